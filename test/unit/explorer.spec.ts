import {
  Controller,
  createParamDecorator,
  Injectable,
  Module,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  ValidationPipe,
  type ModuleMetadata,
} from '@nestjs/common';
import { BaseExceptionFilter, DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from 'vitest';
import { StreamHandlerExplorer, type Explored } from '../../lib/handlers/explorer.js';
import { StreamHandler } from '../../lib/handlers/stream-handler.decorator.js';
import { HandlerError } from '../../lib/rillkit.errors.js';

/** As libraries for tracing do it: the method that it leaves is another function. */
const trace = (_target: object, _key: string, descriptor: PropertyDescriptor): void => {
  descriptor.value = (): void => {};
};

async function explore(metadata: ModuleMetadata): Promise<Explored> {
  @Module(metadata)
  class FeatureModule {}
  const app = await Test.createTestingModule({ imports: [DiscoveryModule, FeatureModule], providers: [StreamHandlerExplorer] }).compile();
  return app.get(StreamHandlerExplorer).explore();
}

const names = ({ handlers }: Explored): readonly string[] =>
  handlers.map(({ name, stream }) => `${name} < ${typeof stream === 'string' ? stream : stream.name}`);

@Injectable()
class Billing {
  readonly billed: unknown[] = [];

  @StreamHandler('orders')
  bill(body: unknown): number {
    return this.billed.push(body);
  }
}

describe('the explorer', () => {
  it('L3 finds handlers in providers and calls them on their instance', async () => {
    const billing = new Billing();
    const explored = await explore({ providers: [{ provide: Billing, useValue: billing }] });
    expect(names(explored)).toEqual(['Billing.bill < orders']);
    expect(explored.handlers[0]?.host?.name).toBe('FeatureModule');
    expect(Reflect.apply(explored.handlers[0]?.invoke ?? expect.unreachable, undefined, ['body'])).toBe(1);
    expect(billing.billed).toEqual(['body']);
  });

  it('L3 finds inherited ones, lets an override win, and warns of one that lost its decorator', async () => {
    @Injectable()
    class Derived extends Billing {
      @StreamHandler('refunds')
      refund(): void {}
    }
    @Injectable()
    class Redecorated extends Billing {
      @StreamHandler('invoices')
      override bill(): number {
        return 0;
      }
    }
    @Injectable()
    class Lost extends Billing {
      override bill(): number {
        return 0;
      }
    }
    const explored = await explore({ providers: [Derived, Redecorated, Lost] });
    expect(names(explored)).toEqual(['Derived.refund < refunds', 'Derived.bill < orders', 'Redecorated.bill < invoices']);
    expect(explored.warnings).toEqual([expect.stringMatching(/^Lost\.bill overrides a handler of Billing .* Decorate it again/)]);
  });

  it('L3 finds an instance once, under however many names, and each of two instances', async () => {
    const explored = await explore({
      providers: [
        Billing,
        { provide: 'alias', useExisting: Billing },
        { provide: 'same', useFactory: (billing: Billing) => billing, inject: [Billing] },
        { provide: 'other', useFactory: async () => new Billing() },
      ],
    });
    expect(names(explored)).toEqual(['Billing.bill < orders', 'Billing.bill < orders']);
  });

  it('is not disturbed by values that are no instances, nor does it call getters', async () => {
    const explored = await explore({
      providers: [
        { provide: 'null', useValue: null },
        { provide: 'undefined', useFactory: () => undefined },
        { provide: 'text', useValue: 'text' },
        { provide: 'function', useValue: () => 1 },
        { provide: 'bare', useValue: Object.create(null) },
        { provide: 'barer', useValue: Object.create(Object.create(null)) },
        {
          provide: 'getter',
          useFactory: () =>
            new (class {
              get trap(): never {
                throw new Error('called');
              }
            })(),
        },
      ],
    });
    expect(explored).toEqual({ handlers: [], warnings: [] });
  });

  it.each([
    [
      'a controller',
      /^Web\.bill is a handler in a controller\. Move it to a provider/,
      (): ModuleMetadata => {
        @Controller()
        class Web {
          @StreamHandler('orders')
          bill(): void {}
        }
        return { controllers: [Web] };
      },
    ],
    [
      'a static method',
      /^Statics\.bill is a static handler\. Make it a method of the instance/,
      (): ModuleMetadata => {
        @Injectable()
        class Statics {
          @StreamHandler('orders')
          static bill(): void {}
        }
        return { providers: [Statics] };
      },
    ],
    [
      'a transient provider',
      /^Fleeting\.bill is a handler in a transient provider.* Give Fleeting the default scope/,
      (): ModuleMetadata => {
        @Injectable({ scope: Scope.TRANSIENT })
        class Fleeting extends Billing {}
        return { providers: [Fleeting] };
      },
    ],
    [
      'a request-scoped provider',
      /^PerRequest\.bill is a handler in a request-scoped provider.* Give PerRequest the default scope/,
      (): ModuleMetadata => {
        @Injectable({ scope: Scope.REQUEST })
        class PerRequest extends Billing {}
        return { providers: [PerRequest] };
      },
    ],
    [
      'a provider that injects a request-scoped one',
      /^Bubbled\.bill is a handler in a request-scoped provider, or in one that injects such a one/,
      (): ModuleMetadata => {
        @Injectable({ scope: Scope.REQUEST })
        class Tenant {}
        @Injectable()
        class Bubbled extends Billing {
          constructor(readonly tenant: Tenant) {
            super();
          }
        }
        return { providers: [Tenant, Bubbled] };
      },
    ],
    [
      'a method that another decorator has replaced',
      /^Traced\.bill: .* Write @StreamHandler\(\) above all others/,
      (): ModuleMetadata => {
        @Injectable()
        class Traced {
          @trace
          @StreamHandler('orders')
          bill(): void {}
        }
        return { providers: [Traced] };
      },
    ],
  ])('L3 refuses a handler in %s, and says what to do', async (_where, message, make) => {
    const refused = explore(make());
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toBeInstanceOf(HandlerError);
  });

  const Tenant = createParamDecorator(() => 'tenant');
  it.each([
    ['@UseGuards()', UseGuards({ canActivate: () => false })],
    ['@UsePipes()', UsePipes(ValidationPipe)],
    ['@UseInterceptors()', UseInterceptors({ intercept: (_context, next) => next.handle() })],
    ['@UseFilters()', UseFilters(BaseExceptionFilter)],
  ])('never runs a handler without its %s: refuses it on the method and on the class', async (called, decorate) => {
    @Injectable()
    class OnMethod {
      @decorate
      @StreamHandler('orders')
      bill(): void {}
    }
    @decorate
    class Base {}
    @Injectable()
    class OnClass extends Base {
      @StreamHandler('orders')
      bill(): void {}
    }
    await expect(explore({ providers: [OnMethod] })).rejects.toThrow(`OnMethod.bill carries ${called}, which`);
    await expect(explore({ providers: [OnClass] })).rejects.toThrow(`OnClass.bill carries ${called}, which`);
  });

  it('never runs a handler without its parameter decorators', async () => {
    @Injectable()
    class Handlers {
      @StreamHandler('orders')
      bill(_body: unknown, @Tenant() _tenant: unknown): void {}
    }
    await expect(explore({ providers: [Handlers] })).rejects.toThrow('Handlers.bill carries parameter decorators, which');
  });
});
