import { z } from 'zod';
import type { Broker } from '../../lib/broker/broker.js';
import { classValidator } from '../../lib/broker/class-validator.js';
import { Stream } from '../../lib/broker/stream.js';
import type { StreamHandlerOptions } from '../../lib/rillkit.options.js';

/* Checked by the compiler alone, with the whole project: nothing here runs. */

type IsAny<T> = 0 extends 1 & T ? true : false;
type Equal<A, B> = IsAny<A> extends true ? false : [A, B] extends [B, A] ? true : false;
type Expect<T extends true> = T;
type Types<S> = S extends Stream<infer Out, infer In> ? [Out, In] : never;

interface Order {
  id: number;
}

class OrderDto {
  id = 0;
}

const plain = new Stream('orders');
const typed = new Stream<Order>('orders', { maxLen: 5 });
const zod = new Stream('orders', { schema: z.object({ id: z.number() }) });
const transforming = new Stream('orders', { schema: z.object({ id: z.string().transform(Number) }) });
const dto = new Stream('orders', { schema: OrderDto });
const adapted = new Stream('orders', { schema: classValidator(OrderDto), group: undefined });

declare function text(value: string): void;
declare function anything(value: unknown): void;

export type Inferred = [
  Expect<Equal<Types<typeof plain>, [unknown, unknown]>>,
  Expect<Equal<Types<typeof typed>, [Order, Order]>>,
  Expect<Equal<Types<typeof zod>, [{ id: number }, { id: number }]>>,
  Expect<Equal<Types<typeof transforming>, [{ id: number }, { id: string }]>>,
  Expect<Equal<Types<typeof dto>, [OrderDto, OrderDto]>>,
  Expect<Equal<Types<typeof adapted>, [OrderDto, OrderDto]>>,
];

/** Any stream can stand where nothing is asked of its bodies. */
export const any: readonly Stream[] = [plain, typed, zod, transforming, dto];
/** So can the options of any handler. */
export const anyOptions = (options: StreamHandlerOptions<Order>): StreamHandlerOptions => options;

// @ts-expect-error an unknown option
export const misspelt = new Stream('orders', { maxLength: 5 });
// @ts-expect-error no entry id
export const nowhere = new Stream('orders', { startFrom: 'end' });

export async function publishing(broker: Broker): Promise<void> {
  await broker.publish(plain, { anything: 1 });
  await broker.publish(typed, { id: 1 }, { messageId: 'm', type: undefined, headers: { a: 'b' }, maxLen: 5, approximate: false });
  await broker.publish(transforming, { id: '1' });
  await broker.publish(dto, { id: 1 });
  await broker.publish('orders', 5);
  // @ts-expect-error the body of another stream
  await broker.publish(typed, { id: '1' });
  // @ts-expect-error what handlers get, not what publishers give
  await broker.publish(transforming, { id: 1 });
  // @ts-expect-error a property that is missing
  await broker.publish(zod, {});
  // @ts-expect-error a promise that nobody awaited
  await broker.publish(typed, Promise.resolve({ id: 1 }));

  const answers = await broker.publishMany(transforming, [{ body: { id: '1' } }, { body: { id: '2' }, messageId: 'm' }]);
  // @ts-expect-error the body of another stream
  await broker.publishMany(transforming, [{ body: { id: 1 } }]);
  for (const answer of answers) {
    // @ts-expect-error only where it went well
    text(answer.id);
    if (answer.ok) text(answer.id + answer.messageId);
    else anything(answer.error);
  }
}
