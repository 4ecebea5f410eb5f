import {
  Body,
  Controller,
  Get,
  HttpCode,
  NotFoundException,
  Param,
  Post,
  ServiceUnavailableException,
  StandardSchemaValidationPipe,
} from '@nestjs/common';
import { Broker, isRillkitError } from '@rillkit/nestjs';
import type { OrderRecord } from './order-record.js';
import { type Order, Orders, OrderSchema } from './order.js';
import { OrdersRepository } from './orders.repository.js';

@Controller('orders')
export class OrdersController {
  constructor(
    private readonly broker: Broker,
    private readonly orders: OrdersRepository,
  ) {}

  /** Accepts an order; it is billed later, by whichever process is free. Answers the id of its stream entry. */
  @Post()
  @HttpCode(202)
  async place(
    @Body({ schema: OrderSchema, pipes: [new StandardSchemaValidationPipe()] }) order: Order,
  ): Promise<{ order: string; entry: string }> {
    const { id } = await this.publish(order);
    await this.orders.place(order);
    return { order: order.id, entry: id };
  }

  @Get(':id')
  async show(@Param('id') id: string): Promise<OrderRecord> {
    const found = await this.orders.find(id);
    if (!found) throw new NotFoundException(`There is no order "${id}".`);
    return found;
  }

  /** The order's id is the message's too: whoever sends an order again after a 503 sends the same message. */
  private async publish(order: Order): Promise<{ id: string }> {
    try {
      return await this.broker.publish(Orders, order, { messageId: order.id });
    } catch (error) {
      if (isRillkitError(error, 'RILLKIT_PUBLISH')) throw new ServiceUnavailableException(error.message, { cause: error });
      throw error;
    }
  }
}
