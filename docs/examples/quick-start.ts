import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Broker, Message, RillkitModule, Stream, StreamHandler } from '@rillkit/nestjs';

const Orders = new Stream<{ id: string; total: number }>('orders');

@Injectable()
class Billing {
  @StreamHandler(Orders, { concurrency: 16, maxRetries: 5 })
  async bill(order: { id: string; total: number }, message: Message): Promise<void> {
    console.log(`Billing ${order.id}: ${order.total}, attempt ${message.attempt}`);
  }
}

@Module({ imports: [RillkitModule.forRoot({ connection: 'redis://localhost:6379', group: 'billing' })], providers: [Billing] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule);
app.enableShutdownHooks();
await app.get(Broker).publish(Orders, { id: 'o-1', total: 12.5 });
