import { Injectable } from '@nestjs/common';
import { exponential, Message, RejectMessage, RetryMessage, StreamHandler } from '@rillkit/nestjs';
import { type Order, Orders } from './schema.js';

@Injectable()
export class BillingHandler {
  @StreamHandler(Orders, { group: 'billing', maxRetries: 5, backoff: exponential({ firstMs: 500, maxMs: 60_000 }), timeoutMs: 30_000 })
  async bill(order: Order, message: Message<Order>): Promise<void> {
    if (order.currency !== 'EUR') throw new RejectMessage(`No account in ${order.currency}`); // to the dead letters at once
    const answer = await fetch('https://payments.example/charge', {
      method: 'POST',
      headers: { 'idempotency-key': message.messageId }, // the same in every attempt
      body: JSON.stringify(order),
      signal: message.signal, // aborts on the timeout, a lost lease, the end of the shutdown's grace
    });
    if (answer.status === 429) throw new RetryMessage('Too many requests', 10_000); // again in ten seconds
    if (!answer.ok) throw new Error(`The payment provider says ${answer.status}`); // again after the backoff
  } // returned: acked
}
