import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders/orders.module.js';
import { BillingHandler } from './billing.handler.js';

@Module({ imports: [OrdersModule], providers: [BillingHandler] })
export class BillingModule {}
