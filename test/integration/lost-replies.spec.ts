import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { fixed } from '../../lib/consumer/backoff.js';
import { bury } from '../../lib/store/redis/scripts/bury.js';
import { settle } from '../../lib/store/redis/scripts/settle.js';
import { Proxy } from '../support/proxy.js';
import { uniqueName } from '../support/redis-server.js';
import { Worker } from '../support/workers.js';

const port = Number(new URL(inject('redisUrl')).port);
let proxy: Proxy;
let worker: Worker;

beforeEach(async () => {
  proxy = await Proxy.to(port);
  worker = new Worker({
    url: proxy.url,
    stream: uniqueName(),
    handler: (body: { do: 'ack' | 'retry' | 'dead' | 'release' }, message) => {
      if (message.deliveries > 1) return;
      if (body.do === 'retry') message.nack({ delayMs: 50 });
      if (body.do === 'dead') message.reject('never');
      if (body.do === 'release') message.release({ delayMs: 50 });
    },
    options: { backoff: fixed(50) },
  }).start();
  await worker.untilConsuming();
});

afterEach(async () => {
  await worker.stop();
  await proxy.close();
});

const pendingIsEmpty = async (): Promise<boolean> => (await worker.broker.stats(worker.stream, { group: 'billing' })).pending === 0;

describe('O13 a settlement that was applied, its reply lost, and is sent again', () => {
  it.each([
    ['ack', [[1, 1]], 0],
    ['retry', [[1, 1], [2, 2]], 0], // prettier-ignore
    ['release', [[1, 1], [1, 1_001]], 0], // prettier-ignore
    ['dead', [[1, 1]], 1],
  ] as const)('takes effect once: %s', async (what, runs, deadLetters) => {
    const lost = proxy.loseReplyTo(what === 'dead' ? bury.sha : settle.sha);
    await worker.broker.publish(worker.stream, { do: what });
    await lost;
    await worker.until(() => worker.runs.length === runs.length && worker.consumers.status()[0]?.unanswered === 0, 'the end');
    await expect.poll(pendingIsEmpty).toBe(true);
    expect(worker.runs.map(({ attempt, number }) => [attempt, number])).toEqual(runs);
    expect(await worker.broker.deadLetters(worker.stream).count()).toBe(deadLetters);
    expect(worker.of('fenced')).toEqual([]);
    expect(worker.of('deadLettered')).toHaveLength(deadLetters);
  });
});
