import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { BODY, type Body, type Contender, Sink } from './contender.js';

export const bullmq = (url: string, control: Redis, concurrency: number): Contender => ({
  name: `BullMQ, c = ${concurrency}`,
  async fill(count) {
    await control.flushall();
    const queue = new Queue('bench', { connection: { url } });
    for (let stored = 0; stored < count; stored += 1_000) {
      const size = Math.min(1_000, count - stored);
      await queue.addBulk(Array.from({ length: size }, () => ({ name: 'bench', data: BODY, opts: { removeOnComplete: true } })));
    }
    await queue.close();
  },
  async consume(count, stopwatch) {
    const sink = new Sink(count, stopwatch);
    const worker = new Worker<Body>('bench', async ({ data }) => sink.handle(data), { connection: { url }, concurrency, autorun: false });
    const completed = new Promise<void>((resolve) => {
      let left = count;
      worker.on('completed', () => {
        left -= 1;
        if (left === 0) resolve();
      });
    });
    await worker.waitUntilReady();
    const running = worker.run();
    await completed;
    stopwatch.ends();
    await worker.close();
    await running;
  },
});
