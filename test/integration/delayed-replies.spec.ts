import { afterEach, describe, expect, inject, it } from 'vitest';
import { Proxy } from '../support/proxy.js';
import { uniqueName } from '../support/redis-server.js';
import { Worker } from '../support/workers.js';

const port = Number(new URL(inject('redisUrl')).port);
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

describe('a slow network', () => {
  it('C19 starts no message twice when each reply comes 50 ms late', async () => {
    const proxy = await Proxy.to(port);
    closing.push(() => proxy.close());
    proxy.delayReplies(50);
    const worker = new Worker({ url: proxy.url, stream: uniqueName(), handler: async () => {}, options: { concurrency: 10 } }).start();
    closing.push(() => worker.stop());
    await worker.broker.publishMany(
      worker.stream,
      Array.from({ length: 1_000 }, (_, n) => ({ body: { n } })),
    );
    await worker.until(() => worker.of('handled').length >= 1_000, 'all');
    await worker.until(() => worker.of('settled').reduce((sum, { count }) => sum + count, 0) >= 1_000, 'their acks');
    expect(worker.runs).toHaveLength(1_000);
    expect(worker.of('fenced')).toEqual([]);
    expect(worker.of('handedBack')).toEqual([]);
  });
});
