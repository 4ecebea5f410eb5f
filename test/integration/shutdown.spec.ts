import { Redis } from 'ioredis';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { Stream } from '../../lib/broker/stream.js';
import { startRedis, uniqueName } from '../support/redis-server.js';
import { Worker, type WorkerOptions } from '../support/workers.js';

const url = inject('redisUrl');
const closing: (() => Promise<unknown>)[] = [];

function work(options: Omit<WorkerOptions, 'url' | 'stream'> & Partial<Pick<WorkerOptions, 'url' | 'stream'>>): Worker {
  const worker = new Worker({ url, stream: uniqueName(), ...options }).start();
  closing.push(() => worker.stop());
  return worker;
}

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const numbers = (count: number) => Array.from({ length: count }, (_, n) => ({ body: { n } }));

/** A handler that ends when it is told to. */
function gate() {
  const ends: (() => void)[] = [];
  return { handler: () => new Promise<void>((resolve) => ends.push(resolve)), open: () => ends.splice(0).forEach((end) => end()) };
}

describe('closing', () => {
  it('S1 takes no time on an idle stream, however long a read may block, and leaves nothing behind', async () => {
    const worker = work({ handler: () => {}, module: { blockMs: 30_000 } });
    await worker.broker.publish(worker.stream, { n: 1 });
    await worker.until(() => worker.of('settled').length > 0, 'the ack');
    const begun = Date.now();
    await worker.consumers.stop();
    expect(Date.now() - begun).toBeLessThan(1_000);

    const client = new Redis(url);
    closing.push(() => client.quit());
    const { name } = worker.stream;
    expect(await client.xinfo('CONSUMERS', name, 'billing')).toEqual([]);
    expect(await client.zrange(`rillkit:leases:${name}:billing`, '-inf', '+inf', 'BYSCORE')).toEqual(
      expect.not.arrayContaining([expect.not.stringMatching(/^~/)]),
    );
    expect(await client.keys(`rillkit:workers:${name}:*`)).toEqual([]);
  });

  it('S3 lets handlers finish within the grace, and hands on what was not started at once', async () => {
    const stream = new Stream(uniqueName());
    const { handler, open } = gate();
    const first = work({ stream, handler, options: { concurrency: 2, prefetch: 5 } });
    await first.broker.publishMany(stream, numbers(7));
    await first.until(() => first.runs.length === 2 && (first.consumers.status()[0]?.waiting ?? 0) === 5, 'two run, five wait');
    const second = work({ stream, handler: () => {}, options: { concurrency: 10 } });
    await second.untilConsuming();
    const stopped = first.stop();
    await second.until(() => second.of('handled').length === 5, 'the five that were not started');
    expect(second.runs.map((run) => [run.attempt, run.number])).toEqual(Array.from({ length: 5 }, () => [1, 1_001]));
    open();
    await stopped;
    expect(first.of('handled').map(({ outcome }) => outcome)).toEqual(['acked', 'acked']);
    expect(second.runs).toHaveLength(5);
  });

  it('S4 aborts what outlives the grace, names it, and it runs elsewhere within a second of the deadline, its attempt not counted', async () => {
    const stream = new Stream(uniqueName());
    const reasons: unknown[] = [];
    const first = work({
      stream,
      handler: (_body, message) =>
        new Promise<void>(() => {
          message.signal.addEventListener('abort', () => reasons.push(message.signal.reason));
        }),
      options: { concurrency: 10 },
      module: { shutdown: { graceMs: 300, abortMs: 200 } },
    });
    await first.broker.publishMany(stream, numbers(10));
    await first.until(() => first.runs.length === 10, 'ten run');
    const second = work({ stream, handler: () => {}, options: { concurrency: 10 } });
    await second.untilConsuming();
    const deadline = Date.now() + 500;
    await first.stop();
    await second.until(() => second.of('handled').length === 10, 'all ten');
    const lastMs = Math.max(...second.runs.map((run) => run.atMs));
    expect(lastMs).toBeGreaterThanOrEqual(deadline - 50);
    expect(lastMs - deadline).toBeLessThan(1_000);
    expect(second.runs.map((run) => run.attempt)).toEqual(Array.from({ length: 10 }, () => 1));
    expect(reasons).toHaveLength(10);
    expect(reasons[0]).toMatchObject({ code: 'RILLKIT_SHUTDOWN' });
    expect(first.of('abandoned').flatMap(({ ids }) => ids)).toHaveLength(10);
  });

  it('S2 ends by its deadline where Redis was never there, is gone, or stands still', async () => {
    const never = work({ url: 'redis://127.0.0.1:1', handler: () => {}, module: { shutdown: { graceMs: 200, abortMs: 100 } } });
    await never.until(() => never.of('loopFailed').length > 1, 'failures');
    const server = await startRedis();
    closing.push(() => server.stop());
    const { handler } = gate();
    const gone = work({ url: server.url, handler, module: { shutdown: { graceMs: 200, abortMs: 100 } } });
    await gone.broker.publish(gone.stream, { n: 1 });
    await gone.until(() => gone.runs.length === 1, 'a run');
    await server.kill('SIGSTOP');
    const begun = Date.now();
    await Promise.all([never.stop(), gone.stop()]);
    expect(Date.now() - begun).toBeLessThan(200 + 100 + 1_000 + 700);
    await server.kill('SIGCONT');
  });

  it('S6 twice, before a start and during one, is no error', async () => {
    const twice = work({ handler: () => {} });
    await Promise.all([twice.stop(), twice.stop()]);
    const never = new Worker({ url, stream: uniqueName(), handler: () => {} });
    await never.stop();
    const during = new Worker({ url, stream: uniqueName(), handler: () => {} }).start();
    await during.stop();
    expect([...twice.seen, ...during.seen].filter(({ type }) => type === 'abandoned')).toEqual([]);
  });

  it('S8 twenty times while messages arrive in a tight loop lets none wait for a lease', async () => {
    const stream = new Stream(uniqueName());
    const ended = new Map<string, number>();
    const published = new Map<string, number>();
    const handler = async (_body: unknown, message: { id: string }): Promise<void> => void ended.set(message.id, Date.now());
    const stays = work({ stream, handler, options: { concurrency: 10 } });
    await stays.untilConsuming();
    let publishing = true;
    const loop = (async () => {
      while (publishing) {
        const { id } = await stays.broker.publish(stream, { n: 1 });
        published.set(id, Date.now());
      }
    })();
    for (let round = 0; round < 20; round += 1) {
      const leaves = new Worker({ url, stream, handler, options: { concurrency: 10 } }).start();
      await leaves.until(() => leaves.runs.length > 20, 'some work');
      await leaves.stop();
    }
    publishing = false;
    await loop;
    await stays.until(() => published.size > 0 && [...published.keys()].every((id) => ended.has(id)), 'all');
    const longest = Math.max(...[...published].map(([id, atMs]) => (ended.get(id) ?? Infinity) - atMs));
    expect(longest).toBeLessThan(2_000);
    const numbersSeen = stays.runs.map((run) => run.attempt);
    expect(Math.max(...numbersSeen)).toBe(1);
  });
});
