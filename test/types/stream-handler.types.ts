import { applyDecorators } from '@nestjs/common';
import { Stream } from '../../lib/broker/stream.js';
import type { StandardSchema } from '../../lib/broker/standard-schema.js';
import { Message } from '../../lib/handlers/message.js';
import { StreamHandler } from '../../lib/handlers/stream-handler.decorator.js';

class Order {
  id = 0;
}
declare const schema: StandardSchema<{ id: string }, Order>;
const Orders = new Stream<Order>('orders');
const Checked = new Stream('checked', { schema });

export class Fine {
  @StreamHandler(Orders)
  async both(_order: Order, _message: Message<Order>): Promise<void> {}

  @StreamHandler(Orders, { retryIf: (_error, message) => message.body.id > 0 })
  bodyOnly(_order: Order): void {}

  @StreamHandler(Orders)
  nothing(): void {}

  @StreamHandler(Orders)
  wider(_order: { id: number } | string): number {
    return 1;
  }

  @StreamHandler(Orders)
  more(_order: Order, _message: Message<Order>, _injected: Date): void {}

  @StreamHandler(Checked)
  transformed(_order: Order): void {}

  @StreamHandler('orders')
  byName(_order: Order, _message: Message<Order>): void {}

  @StreamHandler('orders')
  byNameText(_order: string): void {}

  @StreamHandler(Orders)
  @StreamHandler('more')
  @StreamHandler(Checked)
  several(_order: Order): void {}

  @applyDecorators(StreamHandler(Orders), StreamHandler('more'))
  composed(_order: Order): void {}
}

export class Wrong {
  // @ts-expect-error: another body than the stream's
  @StreamHandler(Orders)
  body(_order: { total: number }): void {}

  // @ts-expect-error: the message of another body
  @StreamHandler(Orders)
  message(_order: Order, _message: Message<{ total: number }>): void {}

  // @ts-expect-error: the message comes second
  @StreamHandler(Orders)
  swapped(_message: Message<Order>, _order: Order): void {}

  // @ts-expect-error: what publishers give is not what handlers get
  @StreamHandler(Checked)
  input(_order: { id: string }): void {}

  // @ts-expect-error: not an option
  @StreamHandler(Orders, { retries: 3 })
  option(_order: Order): void {}

  // @ts-expect-error: a property is no method
  @StreamHandler(Orders)
  property = (_order: Order): void => {};
}
