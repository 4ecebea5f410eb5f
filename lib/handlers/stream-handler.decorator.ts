// oxlint-disable-next-line import/no-unassigned-import -- it brings Reflect.defineMetadata, whoever is loaded first
import 'reflect-metadata';
import type { Stream } from '../broker/stream.js';
import { HandlerError } from '../rillkit.errors.js';
import type { StreamHandlerOptions } from '../rillkit.options.js';
import type { Message } from './message.js';

/**
 * The key of a handler's metadata: on the method's function an array of {@link StreamHandlerDefinition}, in the order as written. Registered
 * with `Symbol.for`, so that two copies of the package in one process find each other's handlers.
 */
export const STREAM_HANDLER = Symbol.for('rillkit:stream-handler');

/** What one `@StreamHandler()` says. */
export interface StreamHandlerDefinition {
  readonly stream: Stream | string;
  readonly options: StreamHandlerOptions;
}

/** Sits on a method that takes the body first and the message second; more parameters, or fewer, are fine. */
export interface StreamHandlerDecorator<T> {
  <M extends (body: T, message: Message<T>, ...rest: never[]) => unknown>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<M>,
  ): void;
  /** Lets `applyDecorators()` take it. On a class it throws. */
  (target: object): void;
}

/**
 * Makes a method of a provider the handler of a stream's messages: `@StreamHandler(Orders, { concurrency: 16 })`. Returning acks, throwing
 * retries; see {@link Message} for more. Several of them on one method bind it several times. An inherited handler counts; an overriding
 * method must be decorated again. Given a name instead of a {@link Stream}, the type of the body is the method's own business.
 *
 * @throws HandlerError on a class, property or accessor.
 */
export function StreamHandler<Out, In>(stream: Stream<Out, In>, options?: StreamHandlerOptions<Out>): StreamHandlerDecorator<Out>;
export function StreamHandler(stream: string, options?: StreamHandlerOptions): StreamHandlerDecorator<never>;
export function StreamHandler(stream: Stream | string, options: StreamHandlerOptions = {}) {
  return (target: object, key?: string | symbol, descriptor?: TypedPropertyDescriptor<unknown>): void => {
    const method = descriptor?.value;
    if (key === undefined || typeof method !== 'function') {
      const place = key === undefined ? 'a class' : `"${String(key)}"`;
      throw new HandlerError(`@StreamHandler() on ${place}: it sits on methods only. Make a method of it, or put it on one.`);
    }
    // Decorators run from the last written to the first.
    const definitions = [{ stream, options }, ...definitionsOf(method)];
    Reflect.defineMetadata(STREAM_HANDLER, definitions, method);
    // On the place too: it tells the explorer when another decorator has put a function of its own there.
    Reflect.defineMetadata(STREAM_HANDLER, true, target, key);
  };
}

/** What stands on this very function; nothing is inherited from another one. */
export function definitionsOf(method: object): readonly StreamHandlerDefinition[] {
  const definitions: unknown = Reflect.getOwnMetadata(STREAM_HANDLER, method);
  return Array.isArray(definitions) ? definitions.filter(isDefinition) : [];
}

/** Whether `@StreamHandler()` was written on `key` of this very prototype (or class, for a static method). */
export const isDecoratedAt = (target: object, key: string | symbol): boolean => Reflect.hasOwnMetadata(STREAM_HANDLER, target, key);

function isDefinition(value: unknown): value is StreamHandlerDefinition {
  return typeof value === 'object' && value !== null && 'stream' in value && 'options' in value;
}
