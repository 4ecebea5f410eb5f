import { setTimeout as work } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { exponential, Message, RejectMessage, StreamHandler } from '@rillkit/nestjs';
import type { BillingResult } from '../orders/order-record.js';
import { type Order, Orders } from '../orders/order.js';
import { OrdersRepository } from '../orders/orders.repository.js';
import { Settings } from '../settings.js';

const MAX_RETRIES = 3;

/** Bills each order. To return is to ack; to throw is to run again after the backoff, and after the last retry the dead letters. */
@Injectable()
export class BillingHandler {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly settings: Settings,
  ) {}

  @StreamHandler(Orders, { group: 'billing', maxRetries: MAX_RETRIES, backoff: exponential({ firstMs: 250, maxMs: 5_000 }) })
  async bill(order: Order, message: Message<Order>): Promise<void> {
    const end = await this.orders.startRun(order, message);
    try {
      await this.charge(order, message);
    } catch (error) {
      await end(resultOf(error, message));
      throw error;
    }
    await end('billed');
  }

  /** A real shop would give `message.messageId` to its payment provider, so that a second run does not charge twice. */
  private async charge(order: Order, message: Message<Order>): Promise<void> {
    await work(this.settings.workMs, undefined, { signal: message.signal });
    switch (order.outcome) {
      case 'succeed':
        return;
      case 'failTwice':
        if (message.attempt <= 2) throw new Error(`The payment provider is away (attempt ${message.attempt})`);
        return;
      case 'fail':
        throw new Error('The payment provider does not answer');
      case 'reject':
        throw new RejectMessage('The card is stolen');
    }
  }
}

function resultOf(error: unknown, message: Message): BillingResult {
  if (error instanceof RejectMessage) return 'rejected';
  if (message.signal.aborted) return 'interrupted';
  return message.attempt > MAX_RETRIES ? 'given up' : 'failed, runs again';
}
