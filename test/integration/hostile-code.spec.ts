import { Redis } from 'ioredis';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { json } from '../../lib/broker/codec-json.js';
import { Stream } from '../../lib/broker/stream.js';
import { fixed } from '../../lib/consumer/backoff.js';
import { RejectMessage } from '../../lib/handlers/message.js';
import { expectAllEnded, expectEndedOnce, watchRejections } from '../support/oracle.js';
import { Proxy } from '../support/proxy.js';
import { startRedis, uniqueName } from '../support/redis-server.js';
import { Worker, type WorkerOptions } from '../support/workers.js';

const url = inject('redisUrl');
const expectNoRejections = watchRejections();
const closing: (() => Promise<unknown>)[] = [];

function work(options: Omit<WorkerOptions, 'url' | 'stream'> & Partial<Pick<WorkerOptions, 'url' | 'stream'>>): Worker {
  const worker = new Worker({ url, stream: uniqueName(), ...options }).start();
  closing.push(() => worker.stop());
  return worker;
}

async function ownRedis() {
  const server = await startRedis();
  closing.push(() => server.stop());
  return server;
}

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  expectNoRejections();
});

const numbers = (count: number) => Array.from({ length: count }, (_, n) => ({ body: { n } }));
const idsOf = (answers: readonly { readonly ok: boolean; readonly id?: string }[]): string[] => answers.flatMap(({ id }) => id ?? []);

const broken = (): object => ({
  // oxlint-disable-next-line unicorn/no-thenable
  then() {
    throw new Error('no thenable at all');
  },
});
const unseen = (): object => ({
  // oxlint-disable-next-line unicorn/no-thenable
  get then() {
    throw new Error('look away');
  },
});

describe('what a handler may do to its slot', () => {
  it('L1 an answer whose then throws, or cannot even be looked at, is a failed attempt and stops nobody', async () => {
    const { url: own } = await ownRedis();
    const worker = work({
      url: own,
      handler: ({ n }: { n: number }) => (n === 0 ? broken() : n === 1 ? unseen() : undefined),
      options: { maxRetries: 1, backoff: fixed(10), concurrency: 2 },
    });
    const ids = idsOf(await worker.broker.publishMany(worker.stream, numbers(20)));
    await worker.until(() => worker.of('handled').filter(({ outcome }) => outcome !== 'retried').length === 20, 'all ends');
    await worker.until(() => worker.of('deadLettered').length === 2, 'two dead letters');
    await worker.stop();
    expect(worker.of('loopFailed').filter(({ loop }) => loop === 'read')).toEqual([]);
    expectEndedOnce([worker], ids);
    await expectAllEnded(own, { stream: worker.stream.name, published: ids });
  });

  it('R9 a thenable that ends twice, both ways, ends once', async () => {
    const worker = work({
      handler: () => ({
        // oxlint-disable-next-line unicorn/no-thenable
        then(done: () => void, failed: (error: Error) => void) {
          done();
          failed(new Error('and again'));
          done();
        },
      }),
    });
    const ids = idsOf(await worker.broker.publishMany(worker.stream, numbers(5)));
    await worker.until(() => worker.of('settled').reduce((sum, { count }) => sum + count, 0) === 5, 'five acks');
    expect(worker.consumers.status()).toMatchObject([{ running: 0, unanswered: 0 }]);
    expectEndedOnce([worker], ids);
  });

  it('R5 a codec that answers nothing costs its message only', async () => {
    const codec = {
      ...json,
      decode: (fields: Parameters<typeof json.decode>[0]) => {
        const envelope = json.decode(fields);
        return JSON.stringify(envelope.body) === '{"n":0}' ? JSON.parse('null') : envelope;
      },
    };
    const worker = work({ stream: new Stream(uniqueName(), { codec }), handler: () => {} });
    await worker.broker.publishMany(worker.stream, numbers(5));
    await worker.until(() => worker.of('handled').length === 4, 'the good ones');
    await worker.until(() => worker.of('deadLettered').length === 1, 'the dead letter');
    expect(worker.of('deadLettered')).toMatchObject([{ reason: 'undecodable', attempts: 0 }]);
  });
});

describe('what a handler has decided', () => {
  it('R9 holds although it then outlives the shutdown: acked is acked', async () => {
    const { url: own } = await ownRedis();
    const worker = work({
      url: own,
      handler: ({ n }: { n: number }, message) => {
        if (n === 0) message.ack();
        if (n === 1) message.reject('no');
        return new Promise<void>(() => {});
      },
      options: { concurrency: 3 },
      module: { shutdown: { graceMs: 50, abortMs: 50 } },
    });
    const ids = idsOf(await worker.broker.publishMany(worker.stream, numbers(3)));
    await worker.until(() => worker.runs.length === 3, 'three run');
    await worker.stop();
    expect(worker.of('handled').map(({ id, outcome }) => [ids.indexOf(id), outcome])).toEqual([
      [0, 'acked'],
      [1, 'dead'],
      [2, 'released'],
    ]);
    const second = work({ url: own, stream: worker.stream, handler: () => {} });
    await second.until(() => second.of('settled').length > 0, 'the third, elsewhere');
    await second.stop();
    expect(second.runs.map(({ id }) => id)).toEqual([ids[2]]);
    expectEndedOnce([worker, second], ids);
    await expectAllEnded(own, { stream: worker.stream.name, published: ids });
  });

  it('is heard from a throw too: RejectMessage is no failure of the shutdown', async () => {
    const worker = work({
      handler: (_body, message) =>
        new Promise<void>((_resolve, reject) => {
          message.signal.addEventListener('abort', () => reject(new RejectMessage('cannot be stopped half-way')));
        }),
      module: { shutdown: { graceMs: 50, abortMs: 1_000 } },
    });
    await worker.broker.publish(worker.stream, { n: 1 });
    await worker.until(() => worker.runs.length === 1, 'a run');
    await worker.stop();
    expect(worker.of('deadLettered')).toMatchObject([{ reason: 'rejected' }]);
  });
});

describe('a lease that is lost and held again', () => {
  it('while a body is still being checked starts no message that was handed back meanwhile', async () => {
    const server = await ownRedis();
    const proxy = await Proxy.to(server.port);
    closing.push(() => proxy.close());
    const checks: (() => void)[] = [];
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) => new Promise<{ value: unknown }>((resolve) => checks.push(() => resolve({ value }))),
      },
    };
    const stream = new Stream<unknown>(uniqueName(), { schema });
    const publisher = work({ url: server.url, handler: () => {} });
    const worker = work({ url: proxy.url, stream, handler: () => {}, module: { liveness: { leaseMs: 1_000 } } });
    await worker.untilConsuming();
    const { id } = await publisher.broker.publish(stream.name, { n: 1 });
    await expect.poll(() => checks.length).toBe(1);
    proxy.stall();
    await worker.until(() => worker.of('leaseLost').length === 1, 'the end of the lease');
    proxy.resume();
    await worker.until(() => worker.of('leaseRegained').length === 1, 'the lease');
    await expect.poll(() => checks.length).toBe(2);
    for (const check of checks) check();
    await worker.until(() => worker.of('handled').length > 0, 'the end');
    await worker.stop();
    expect(worker.runs.map((run) => run.id)).toEqual([id]);
    expectEndedOnce([worker], [id]);
  });
});

describe('a message that is due in more than a timer holds', () => {
  it('is waited for in peace', async () => {
    const server = await ownRedis();
    const worker = work({
      url: server.url,
      handler: () => {
        throw new Error('no');
      },
      options: { backoff: () => 40 * 86_400_000 },
    });
    await worker.broker.publish(worker.stream, { n: 1 });
    await worker.until(() => worker.of('settled').length > 0, 'it is parked');
    const redis = new Redis(server.url);
    closing.push(() => redis.quit());
    await redis.config('RESETSTAT');
    const calls = async (command: string) =>
      Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.info('commandstats'))?.[1] ?? 0);
    await expect.poll(() => calls('xreadgroup'), { timeout: 5_000 }).toBeGreaterThan(0);
    expect(await calls('evalsha')).toBeLessThan(20);
  });
});

describe('several streams of one group in one process', () => {
  it('M3 a stream with a backlog starves no other', async () => {
    const busy = uniqueName('busy');
    const quiet = uniqueName('quiet');
    let left = 0;
    const worker = work({
      stream: busy,
      handler: () => void (left -= 1),
      options: { concurrency: 1_000 },
      also: [{ stream: quiet, handler: () => {} }],
    });
    await worker.untilConsuming();
    const filling = new AbortController();
    const filled = (async () => {
      while (!filling.signal.aborted) {
        if (left < 10_000) {
          left += 500;
          await worker.broker.publishMany(worker.stream, numbers(500));
        } else await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    await worker.until(() => worker.runs.length > 5_000, 'a busy stream');
    const latencies: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const { id } = await worker.broker.publish(quiet, { n });
      const since = Date.now();
      await worker.until(() => worker.runs.some((run) => run.id === id), 'the quiet one', 5_000);
      latencies.push(Date.now() - since);
    }
    filling.abort();
    await filled;
    console.log(`a message of a quiet stream beside a busy one was started within ${Math.max(...latencies)} ms`);
    expect(Math.max(...latencies)).toBeLessThan(500);
  });
});
