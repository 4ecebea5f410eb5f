import type { Message } from '@rillkit/nestjs';
import type { Order } from './order.js';
import type { BillingResult, BillingRun, OrderRecord } from './order-record.js';
import { OrdersRepository } from './orders.repository.js';

interface Kept {
  order: Order | null;
  state: string;
  /** Of the newest run that has ended. */
  fence: string;
  readonly runs: BillingRun[];
  audits: number;
}

/** Orders in this process, for a shop that runs without Redis: they end with it. */
export class MemoryOrders extends OrdersRepository {
  private readonly orders = new Map<string, Kept>();

  async place(order: Order): Promise<void> {
    this.kept(order.id).order = order;
  }

  async startRun(order: Order, message: Message<Order>): Promise<(result: BillingResult) => Promise<void>> {
    const kept = this.kept(order.id);
    const { id: entry, attempt, worker, fence } = message;
    const run: BillingRun = { entry, attempt, worker, fence, startedAt: Date.now() };
    kept.order = order;
    const at = kept.runs.push(run) - 1;
    return async (result) => {
      const newest = fence >= kept.fence;
      if (newest) Object.assign(kept, { fence, state: result });
      kept.runs[at] = { ...run, endedAt: Date.now(), result: newest ? result : 'overtaken' };
    };
  }

  async countAudit(orderId: string): Promise<void> {
    this.kept(orderId).audits += 1;
  }

  async find(orderId: string): Promise<OrderRecord | null> {
    const { order = null, state = '', runs = [], audits = 0 } = this.orders.get(orderId) ?? {};
    return order && { order, state, runs: [...runs], audits };
  }

  private kept(orderId: string): Kept {
    const kept = this.orders.get(orderId) ?? { order: null, state: 'placed', fence: '', runs: [], audits: 0 };
    this.orders.set(orderId, kept);
    return kept;
  }
}
