import { createParamDecorator, UseFilters, UseGuards, UseInterceptors, UsePipes } from '@nestjs/common';

const PROBED = 'probed';

/**
 * Says which of Nest's enhancers a handler carries. Nest does not export the keys it keeps them under, so each decorator is put on a probe
 * once and the keys it leaves there are read: true for every version.
 */
export class Enhancers {
  private readonly keys = [
    { called: '@UseGuards()', keys: keysLeftBy(UseGuards({ canActivate: () => true })) },
    { called: '@UsePipes()', keys: keysLeftBy(UsePipes({ transform: (value: unknown) => value })) },
    { called: '@UseInterceptors()', keys: keysLeftBy(UseInterceptors({ intercept: (_context, next) => next.handle() })) },
    { called: '@UseFilters()', keys: keysLeftBy(UseFilters({ catch: () => undefined })) },
  ];
  private readonly parameterKeys = keysLeftByParameter();

  /** The decorators on this method or its class, as a user writes them. */
  of(type: object, key: string | symbol, method: object): readonly string[] {
    const has = (keys: readonly unknown[]): boolean =>
      keys.some((name) => Reflect.hasMetadata(name, method) || Reflect.hasMetadata(name, type));
    const found = this.keys.filter(({ keys }) => has(keys)).map(({ called }) => called);
    const parameters = this.parameterKeys.some((name) => Reflect.hasMetadata(name, type, key));
    return parameters ? [...found, 'parameter decorators'] : found;
  }
}

function keysLeftBy(decorate: MethodDecorator): readonly unknown[] {
  const probe = { [PROBED]: (): void => {} };
  decorate(probe, PROBED, { value: probe[PROBED] });
  return Reflect.getOwnMetadataKeys(probe[PROBED]);
}

function keysLeftByParameter(): readonly unknown[] {
  // Nest keeps them on the class that the prototype names.
  const probe = { constructor: (): void => {} };
  createParamDecorator(() => undefined)()(probe, PROBED, 0);
  return Reflect.getOwnMetadataKeys(probe.constructor, PROBED);
}
