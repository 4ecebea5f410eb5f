import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fixed } from '../../lib/consumer/backoff.js';
import { watchRejections } from '../support/oracle.js';
import { Scene } from '../support/scene.js';

const expectNoRejections = watchRejections();
let scene: Scene;

beforeEach(async () => {
  scene = await Scene.open();
});

afterEach(async () => {
  await scene.close();
  expectNoRejections();
});

const FAST = { liveness: { leaseMs: 1_000 }, blockMs: 500 } as const;
const parkedKey = (): string => `rillkit:parked:${scene.stream}:billing`;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('entries that others take, delete or leave', () => {
  it('C14 a message that a consumer without a lease abandoned is taken after claimIdleMs, not before', async () => {
    const worker = scene.worker({ handler: () => {}, options: { claimIdleMs: 2_000 }, module: FAST });
    await scene.redis.xgroup('CREATE', scene.stream, 'billing', '0', 'MKSTREAM').catch(() => {});
    // Before the worker reads; whoever is first.
    const [id = ''] = await scene.publish(1);
    const read = await scene.redis.xreadgroup('GROUP', 'billing', 'by-hand', 'COUNT', 1, 'STREAMS', scene.stream, '>');
    if (!read) return;
    const at = Date.now();
    await scene.untilEnded([id], 25_000);
    expect((worker.runs[0]?.atMs ?? 0) - at).toBeGreaterThanOrEqual(1_990);
    expect(worker.runs).toMatchObject([{ attempt: 2 }]);
    expect(worker.of('scanned')).toMatchObject([{ foreign: 1 }]);
    await scene.end({ unburied: ['by-hand'] });
  });

  it('C15 what is deleted or trimmed while it waits, runs, or is parked is never handed out, and told as lost', async () => {
    const gates: (() => void)[] = [];
    const worker = scene.worker({
      handler: ({ n }: { n: number }, { attempt }) => {
        if (n < 3) throw new Error('parked');
        if (n < 6 && attempt === 1)
          return new Promise<void>((_resolve, reject) => gates.push(() => reject(new Error('fails when it is gone'))));
      },
      options: { concurrency: 10, maxRetries: 3, backoff: (attempt) => (attempt === 1 ? 1_000 : 10) },
      module: FAST,
    });
    await worker.untilConsuming();
    const ids = await scene.publish(8);
    await worker.until(() => gates.length === 3 && worker.of('handled').length === 5, 'three parked, three running');
    await expect.poll(() => scene.redis.zcard(parkedKey())).toBe(4);
    await scene.redis.xdel(scene.stream, ...ids.slice(0, 6));
    for (const open of gates) open();
    await worker.until(() => worker.of('lost').reduce((sum, { count }) => sum + count, 0) === 6, 'six lost');
    expect(worker.runs.filter(({ attempt }) => attempt > 1)).toEqual([]);
    await scene.end({ published: ids.slice(6), lost: ids.slice(0, 6) });
  });

  it('C15 a running message that is deleted and then fails for good is a dead letter nevertheless', async () => {
    const worker = scene.worker({
      handler: async ({ n }: { n: number }) => {
        if (n === 0) await scene.redis.xtrim(scene.stream, 'MAXLEN', '=', 0);
        throw new Error('no');
      },
      options: { maxRetries: 0 },
    });
    await worker.untilConsuming();
    const [id] = await scene.publish(1);
    await worker.until(() => worker.of('deadLettered').length === 1, 'the dead letter');
    const [entry] = await scene.redis.xrange(`${scene.stream}-dlq`, '-', '+');
    expect(entry?.[1]).toEqual(expect.arrayContaining(['body', '{"n":0}', 'rillkit:entry', id]));
    await scene.end();
  });

  it('C20 another program takes live and parked entries by XAUTOCLAIM: settlements are fenced, nothing is stolen back, each ends once', async () => {
    const gates: (() => void)[] = [];
    const worker = scene.worker({
      handler: ({ n }: { n: number }, { attempt }) => {
        if (n % 2 === 0 && attempt === 1) throw new Error('parked');
        if (attempt === 1) return new Promise<void>((resolve) => gates.push(resolve));
      },
      options: { concurrency: 10, backoff: fixed(700), claimIdleMs: 60_000 },
      module: FAST,
    });
    await worker.untilConsuming();
    const ids = await scene.publish(6);
    await worker.until(() => gates.length === 3 && worker.of('handled').length === 3, 'three parked, three running');
    await expect.poll(() => scene.redis.zcard(parkedKey())).toBe(4);
    const stolen = await scene.redis.xautoclaim(scene.stream, 'billing', 'thief', 0, '0', 'COUNT', 100);
    expect(stolen[1]).toHaveLength(6);
    for (const open of gates) open();
    await worker.until(() => worker.of('fenced').length === 3, 'fenced acks');
    await pause(1_500);
    expect(worker.runs).toHaveLength(6);
    expect(await scene.redis.zcard(parkedKey())).toBe(1);
    expect((await scene.redis.xpending(scene.stream, 'billing', '-', '+', 10, 'thief')).length).toBe(6);
    await scene.redis.xack(scene.stream, 'billing', ...ids);
    await scene.end({ published: [], unburied: ['thief'] });
  });
});

describe('the rows of what is parked', () => {
  it('C24 deleted by hand, or of the wrong type for a while: everything still ends, in tens of calls', { timeout: 60_000 }, async () => {
    const worker = scene.worker({
      handler: (_body, { attempt }) => {
        if (attempt === 1) throw new Error('once');
      },
      options: { concurrency: 4, backoff: fixed(300), maxRetries: 100, maxHandBacks: 1_000 },
      module: FAST,
    });
    await worker.untilConsuming();
    await scene.publish(4);
    await expect.poll(() => scene.redis.zcard(parkedKey())).toBe(5);
    await scene.redis.del(parkedKey());
    await scene.publish(4);
    await scene.untilEnded(scene.published, 25_000);

    await scene.redis.config('RESETSTAT');
    const since = worker.of('loopFailed').length;
    await scene.redis.set(parkedKey(), 'no zset');
    await scene.publish(4);
    await pause(3_000);
    expect(worker.of('leaseLost')).toEqual([]);
    expect(worker.of('loopFailed').length - since).toBeLessThan(60);
    await scene.redis.del(parkedKey());
    await scene.untilEnded(scene.published, 25_000);
    await scene.end();
  });

  it('C24 of the wrong type while some are due costs tens of calls, and new messages go on', { timeout: 60_000 }, async () => {
    const worker = scene.worker({
      handler: ({ n }: { n: number }, { attempt }) => {
        if (n === 0 && attempt === 1) throw new Error('once');
      },
      options: { backoff: fixed(200) },
      module: FAST,
    });
    await worker.untilConsuming();
    await scene.publish(1);
    await expect.poll(() => scene.redis.zcard(parkedKey())).toBe(2);
    await scene.redis.multi().del(parkedKey()).set(parkedKey(), 'no zset').exec();
    await worker.until(() => worker.of('loopFailed').some(({ loop }) => loop === 'take'), 'a take that fails');
    await scene.redis.config('RESETSTAT');
    const until = Date.now() + 3_000;
    const ids: string[] = [];
    while (Date.now() < until) {
      ids.push(...(await scene.publish(1)));
      await pause(100);
    }
    await scene.untilEnded(ids, 5_000);
    const stats = await scene.redis.info('commandstats');
    const evals = Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
    console.log(`${evals} script calls and ${worker.of('loopFailed').length} failures for ${ids.length} messages in 3 s`);
    expect(evals).toBeLessThan(100);
    await scene.redis.del(parkedKey());
    await scene.untilEnded(scene.published, 25_000);
    await scene.end();
  });
});

describe('fewest and most', () => {
  it.each([
    { concurrency: 1, count: 1, prefetch: 0 },
    { concurrency: 10_000, count: 100 },
    { concurrency: 3, count: 1, prefetch: 10_000 },
    { concurrency: 2, maxHandBacks: 0, maxRetries: 1 },
    { concurrency: 2, maxRetries: 900 },
  ] as const)('M2 %o: each ends once, in its attempts', async (options) => {
    const worker = scene.worker({
      handler: ({ n }: { n: number }, { attempt }) => {
        if (n % 5 === 0 && attempt === 1) throw new Error('once');
      },
      options: { backoff: fixed(10), ...options },
      // No beat and no end of a block may help out where somebody was not woken.
      module: { liveness: { leaseMs: 60_000 }, blockMs: 30_000 },
    });
    await worker.untilConsuming();
    await scene.publish(300);
    await scene.untilEnded();
    expect(Math.max(...worker.runs.map(({ attempt }) => attempt))).toBe(2);
    expect(worker.of('deadLettered')).toEqual([]);
    expect(worker.consumers.status()).toMatchObject([{ running: 0, waiting: 0 }]);
    await scene.end();
  });
});

describe('free slots', () => {
  it('are read for although a read before has not filled them, and what it brought runs long', async () => {
    const worker = scene.worker({
      handler: () => new Promise(() => {}),
      options: { concurrency: 10 },
      module: { shutdown: { graceMs: 0, abortMs: 0 } },
    });
    await worker.untilConsuming();
    await scene.redis.multi(Array.from({ length: 6 }, (_, n) => ['xadd', scene.stream, '*', 'body', JSON.stringify({ n })])).exec();
    await worker.until(() => worker.runs.length === 6, 'six');
    await scene.publish(4);
    await worker.until(() => worker.runs.length === 10, 'ten', 5_000);
    expect(worker.consumers.status()).toMatchObject([{ running: 10, waiting: 0 }]);
  });
});
