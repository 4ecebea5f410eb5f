import { Module } from '@nestjs/common';
import { Settings } from '../settings.js';
import { MemoryOrders } from './memory-orders.repository.js';
import { OrdersController } from './orders.controller.js';
import { OrdersRepository } from './orders.repository.js';
import { RedisOrders } from './redis-orders.repository.js';

@Module({
  controllers: [OrdersController],
  providers: [
    {
      provide: OrdersRepository,
      inject: [Settings],
      useFactory: ({ redisUrl }: Settings): OrdersRepository => (redisUrl === null ? new MemoryOrders() : new RedisOrders(redisUrl)),
    },
  ],
  exports: [OrdersRepository],
})
export class OrdersModule {}
