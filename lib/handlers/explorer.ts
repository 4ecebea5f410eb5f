import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { HandlerError } from '../rillkit.errors.js';
import type { Message } from './message.js';
import { classNameOf, classOf, decoratedMethods, decoratedStatics } from './decorated-methods.js';
import { Enhancers } from './enhancers.js';
import type { StreamHandlerDefinition } from './stream-handler.decorator.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];
/** A module as Nest's container holds it. */
export type HostModule = NonNullable<Wrapper['host']>;

/** A decorated method on the instance that it will be called on. */
export interface FoundHandler extends StreamHandlerDefinition {
  /** `Class.method` */
  readonly name: string;
  readonly host: HostModule | undefined;
  readonly invoke: (body: unknown, message: Message) => unknown;
}

export interface Explored {
  readonly handlers: readonly FoundHandler[];
  /** What looks like a mistake and is none for sure, a sentence each. */
  readonly warnings: readonly string[];
}

/** Finds the handlers of the application, wherever they are provided, each once. */
@Injectable()
export class StreamHandlerExplorer {
  private readonly enhancers = new Enhancers();

  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws HandlerError for a handler where none can run as it should; the message says what to do. */
  explore(): Explored {
    for (const wrapper of this.discovery.getControllers()) refuseController(wrapper);
    const found = { handlers: new Array<FoundHandler>(), warnings: new Array<string>() };
    const seen = new Set<object>();
    for (const wrapper of this.discovery.getProviders()) {
      const instance: unknown = wrapper.instance;
      // An alias is another name of an instance; a factory may answer one that is provided elsewhere too.
      if (wrapper.isAlias || typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      this.exploreInstance(wrapper, instance, found);
    }
    return found;
  }

  private exploreInstance(wrapper: Wrapper, instance: object, into: { handlers: FoundHandler[]; warnings: string[] }): void {
    const prototype = Reflect.getPrototypeOf(instance);
    if (prototype === null) return;
    const className = classNameOf(prototype);
    refuseStatics(prototype, className);
    for (const found of decoratedMethods(prototype)) {
      const name = `${className}.${String(found.key)}`;
      if (found.is === 'overridden') {
        into.warnings.push(
          `${name} overrides a handler of ${found.base} and has no @StreamHandler() itself, so it handles nothing. Decorate it again, or give it another name.`,
        );
        continue;
      }
      refuseScopes(wrapper, name, className);
      if (found.is === 'wrapped') {
        throw new HandlerError(
          `${name}: a decorator written above @StreamHandler() has replaced the method. Write @StreamHandler() above all others.`,
        );
      }
      this.refuseEnhancers(prototype, found.key, found.method, name);
      const invoke = bound(instance, found.key, name);
      for (const definition of found.definitions) into.handlers.push({ ...definition, name, host: wrapper.host, invoke });
    }
  }

  /** A guard that is not asked is worse than a handler that does not start. */
  private refuseEnhancers(prototype: object, key: string | symbol, method: object, name: string): void {
    const carried = this.enhancers.of(classOf(prototype), key, method);
    if (carried.length === 0) return;
    throw new HandlerError(
      `${name} carries ${carried.join(', ')}, which handlers do not run through yet. Take them off the method and its class, and check in the handler.`,
    );
  }
}

function bound(instance: object, key: string | symbol, name: string): FoundHandler['invoke'] {
  const method: unknown = Reflect.get(instance, key);
  if (typeof method !== 'function') throw new HandlerError(`${name} is no method of its instance any more; something has replaced it.`);
  return (body, message): unknown => Reflect.apply(method, instance, [body, message]);
}

function refuseController(wrapper: Wrapper): void {
  const instance: unknown = wrapper.instance;
  const prototype = typeof instance === 'object' && instance !== null ? Reflect.getPrototypeOf(instance) : null;
  if (prototype === null) return;
  const [key] = [...decoratedMethods(prototype).map((found) => found.key), ...decoratedStatics(classOf(prototype))];
  if (key === undefined) return;
  throw new HandlerError(
    `${classNameOf(prototype)}.${String(key)} is a handler in a controller. Move it to a provider; the controller can inject that one.`,
  );
}

function refuseStatics(prototype: object, className: string): void {
  const [key] = decoratedStatics(classOf(prototype));
  if (key === undefined) return;
  throw new HandlerError(`${className}.${String(key)} is a static handler. Make it a method of the instance.`);
}

function refuseScopes(wrapper: Wrapper, name: string, className: string): void {
  if (wrapper.isTransient) {
    throw new HandlerError(
      `${name} is a handler in a transient provider: whoever injects ${className} has another instance, and none of them is the one to handle messages. Give ${className} the default scope.`,
    );
  }
  if (!wrapper.isDependencyTreeStatic()) {
    throw new HandlerError(
      `${name} is a handler in a request-scoped provider, or in one that injects such a one; these are not there yet. Give ${className} the default scope, and resolve what is request-scoped with ModuleRef.`,
    );
  }
}
