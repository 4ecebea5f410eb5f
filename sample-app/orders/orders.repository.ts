import type { Message } from '@rillkit/nestjs';
import type { Order } from './order.js';
import type { BillingResult, OrderRecord } from './order-record.js';

/**
 * The shop's own database. It opens in `onModuleInit` and closes in `onApplicationShutdown`: after the handlers that were still running
 * while the application closed.
 */
export abstract class OrdersRepository {
  /** Notes a new order; billing may have been faster. */
  abstract place(order: Order): Promise<void>;

  /**
   * Notes that a run of billing begins, and answers how to note its end. An order's state is that of its newest run: one that was believed
   * dead and ends late finds a higher fence and changes nothing.
   */
  abstract startRun(order: Order, message: Message<Order>): Promise<(result: BillingResult) => Promise<void>>;

  abstract countAudit(orderId: string): Promise<void>;

  abstract find(orderId: string): Promise<OrderRecord | null>;
}
