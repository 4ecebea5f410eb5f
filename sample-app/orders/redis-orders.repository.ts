import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Message } from '@rillkit/nestjs';
import { Redis } from 'ioredis';
import type { Order } from './order.js';
import type { BillingResult, BillingRun, OrderRecord } from './order-record.js';
import { OrdersRepository } from './orders.repository.js';

// The state is written only by the newest run: one that was believed dead and ends late finds a higher fence and changes nothing.
const CONCLUDE = `
local newest = redis.call('HGET', KEYS[1], 'fence')
if newest and newest > ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'state', ARGV[2])
return 1`;

const keyOf = (orderId: string): string => `shop:order:${orderId}`;

/** A Redis hash an order, so that several processes agree. */
export class RedisOrders extends OrdersRepository implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(OrdersRepository.name);
  private readonly redis: Redis;

  constructor(redisUrl: string) {
    super();
    this.redis = new Redis(redisUrl, { lazyConnect: true });
    this.redis.on('error', (error) => this.logger.warn(error.message));
  }

  async onModuleInit(): Promise<void> {
    await this.redis.connect();
    this.logger.log('The order book is open');
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
    this.logger.log('The order book is closed');
  }

  async place(order: Order): Promise<void> {
    await this.redis.pipeline().hset(keyOf(order.id), 'order', JSON.stringify(order)).hsetnx(keyOf(order.id), 'state', 'placed').exec();
  }

  async startRun(order: Order, message: Message<Order>): Promise<(result: BillingResult) => Promise<void>> {
    const key = keyOf(order.id);
    const { id: entry, attempt, worker, fence } = message;
    const run: BillingRun = { entry, attempt, worker, fence, startedAt: Date.now() };
    const number = await this.redis.hincrby(key, 'runs', 1);
    await this.redis.hset(key, `run:${number}`, JSON.stringify(run), 'order', JSON.stringify(order));
    return async (result) => {
      const newest = (await this.redis.eval(CONCLUDE, 1, key, fence, result)) === 1;
      const ended: BillingRun = { ...run, endedAt: Date.now(), result: newest ? result : 'overtaken' };
      await this.redis.hset(key, `run:${number}`, JSON.stringify(ended));
    };
  }

  async countAudit(orderId: string): Promise<void> {
    await this.redis.hincrby(keyOf(orderId), 'audits', 1);
  }

  async find(orderId: string): Promise<OrderRecord | null> {
    const { order, state = 'placed', audits = '0', runs = '0', ...rest } = await this.redis.hgetall(keyOf(orderId));
    if (order === undefined) return null;
    const numbers = Array.from({ length: Number(runs) }, (_, index) => index + 1);
    return {
      order: JSON.parse(order),
      state,
      runs: numbers.flatMap((number) => JSON.parse(rest[`run:${number}`] ?? '[]')),
      audits: Number(audits),
    };
  }
}
