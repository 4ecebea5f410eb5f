import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders/orders.module.js';
import { AuditHandler } from './audit.handler.js';

@Module({ imports: [OrdersModule], providers: [AuditHandler] })
export class AuditModule {}
