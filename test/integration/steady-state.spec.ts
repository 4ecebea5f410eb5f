import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RillkitModule, Stream, StreamHandler } from '../../lib/index.js';
import { CommandCounter } from '../support/monitor.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

const MESSAGES = 10_000;
const Steady = new Stream<{ n: number }>('steady', { maxLen: 100_000 });

describe('what a worker asks of Redis', () => {
  let server: RedisServer;
  let redis: Redis;
  let counter: CommandCounter;
  let close: () => Promise<void>;

  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
    counter = await CommandCounter.on(server.url);
  });

  afterEach(() => close());

  afterAll(async () => {
    counter.close();
    redis.disconnect();
    await server.stop();
  });

  it('is at most a tenth of a command a message, at c = 100', async () => {
    const worker = await startWorker();
    await counter.reset();
    await publish(MESSAGES);
    await expect.poll(() => worker.handled, { timeout: 20_000 }).toBe(MESSAGES);
    await expect.poll(async () => (await redis.xpending('steady', 'steady'))[0], { timeout: 5_000 }).toBe(0);

    const { byCommand } = await counter.read();
    // Ours: what fills the stream and what asks whether all is done.
    const { xadd = 0, xpending = 0, info = 0, ...workers } = byCommand;
    expect(xadd).toBe(MESSAGES);
    const perMessage = Object.values(workers).reduce((sum, count) => sum + count, 0) / MESSAGES;
    console.log(`${perMessage} commands a message:`, workers, { xpending, info });
    expect(perMessage).toBeLessThanOrEqual(0.1);
  });

  it('is at most one command a second, when nothing is to do', async () => {
    await startWorker();
    await counter.next('xreadgroup');
    await counter.reset();
    const start = performance.now();
    await counter.next('xreadgroup');
    await counter.next('xreadgroup');
    const { total, byCommand } = await counter.read();
    const perSecond = (total * 1_000) / (performance.now() - start);
    console.log(`${perSecond.toFixed(2)} commands a second:`, byCommand);
    expect(perSecond).toBeLessThanOrEqual(1);
  });

  async function startWorker(): Promise<SteadyHandler> {
    @Module({
      imports: [RillkitModule.forRoot({ connection: server.url, group: 'steady', defaults: { concurrency: 100 } })],
      providers: [SteadyHandler],
    })
    class SteadyModule {}

    const app = await NestFactory.createApplicationContext(SteadyModule, { logger: ['error', 'warn'] });
    close = () => app.close();
    await counter.next('xreadgroup');
    return app.get(SteadyHandler);
  }

  async function publish(count: number): Promise<void> {
    for (let stored = 0; stored < count; stored += 500) {
      const batch = redis.pipeline();
      for (let n = stored; n < stored + 500; n += 1) batch.xadd('steady', '*', 'body', JSON.stringify({ n }));
      await batch.exec();
    }
  }
});

@Injectable()
class SteadyHandler {
  handled = 0;

  @StreamHandler(Steady)
  handle(): void {
    this.handled += 1;
  }
}
