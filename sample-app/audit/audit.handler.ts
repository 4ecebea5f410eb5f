import { Injectable } from '@nestjs/common';
import { StreamHandler } from '@rillkit/nestjs';
import { type Order, Orders } from '../orders/order.js';
import { OrdersRepository } from '../orders/orders.repository.js';

/** Another group on the same stream: it sees every order once, however billing fares. */
@Injectable()
export class AuditHandler {
  constructor(private readonly orders: OrdersRepository) {}

  @StreamHandler(Orders, { group: 'audit' })
  async note(order: Order): Promise<void> {
    await this.orders.countAudit(order.id);
  }
}
