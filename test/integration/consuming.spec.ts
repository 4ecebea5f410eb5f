import { afterEach, describe, expect, inject, it } from 'vitest';
import { fixed } from '../../lib/consumer/backoff.js';
import { RejectMessage, RetryMessage } from '../../lib/handlers/message.js';
import { uniqueName } from '../support/redis-server.js';
import { Worker, type WorkerOptions } from '../support/workers.js';

const url = inject('redisUrl');
const workers: Worker[] = [];

function work(options: Omit<WorkerOptions, 'url' | 'stream'> & { readonly stream?: WorkerOptions['stream'] }): Worker {
  const worker = new Worker({ url, stream: uniqueName(), ...options }).start();
  workers.push(worker);
  return worker;
}

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

const numbers = (count: number) => Array.from({ length: count }, (_, n) => ({ body: { n } }));

describe('a message’s life', () => {
  it('is published, handled once, acked', async () => {
    const bodies: unknown[] = [];
    const worker = work({ handler: (body) => void bodies.push(body) });
    const { id } = await worker.broker.publish(worker.stream, { n: 1 });
    await worker.until(() => worker.of('settled').length > 0, 'the ack');
    expect(bodies).toEqual([{ n: 1 }]);
    expect(worker.of('handled')).toMatchObject([{ outcome: 'acked', id, attempt: 1 }]);
    expect(await worker.broker.stats(worker.stream, { group: worker.group })).toMatchObject({ length: 1, undelivered: 0, pending: 0 });
  });

  it('is handled although it was published before the first worker ever started', async () => {
    const stream = uniqueName();
    const first = work({ stream, group: 'other', handler: () => {} });
    await first.broker.publish(first.stream, { n: 1 });
    const worker = work({ stream, handler: () => {} });
    await worker.until(() => worker.of('handled').length === 1, 'the old message');
    expect(worker.of('handled')).toMatchObject([{ outcome: 'acked', attempt: 1 }]);
  });

  it('goes to no handler that began at the end', async () => {
    const stream = uniqueName();
    const first = work({ stream, group: 'other', handler: () => {} });
    await first.broker.publish(first.stream, { n: 1 });
    await first.until(() => first.of('handled').length === 1, 'the first group');
    const worker = work({ stream, handler: () => {}, options: { startFrom: 'new' } });
    await worker.until(() => worker.of('groupMade').length === 1, 'the group');
    const { id } = await worker.broker.publish(worker.stream, { n: 2 });
    await worker.until(() => worker.of('handled').length === 1, 'the new message');
    expect(worker.runs.map((run) => run.id)).toEqual([id]);
  });

  it.each([1, 10, 100])('handles 2 000 messages, each once, with %i slots', async (concurrency) => {
    const worker = work({ handler: async () => {}, options: { concurrency } });
    await worker.broker.publishMany(worker.stream, numbers(2_000));
    await worker.until(() => worker.of('handled').length === 2_000, 'all handled');
    expect(new Set(worker.runs.map((run) => run.id)).size).toBe(2_000);
    expect(worker.runs).toHaveLength(2_000);
    await worker.stop();
    expect(worker.of('fenced')).toEqual([]);
  });
});

describe('a handler that fails', () => {
  it.each([
    [0, 1],
    [1, 2],
    [4, 5],
  ])('with %i retries runs %i times and then goes to the dead letters', async (maxRetries, times) => {
    const worker = work({
      handler: (body: { n: number }) => {
        if (body.n === 0) throw new Error('no');
      },
      options: { maxRetries, backoff: fixed(20), concurrency: 5 },
    });
    await worker.broker.publishMany(worker.stream, numbers(21));
    await worker.until(() => worker.of('deadLettered').length === 1, 'the dead letter');
    const [{ id } = { id: '' }] = worker.of('deadLettered');
    expect(worker.runs.filter((run) => run.id === id).map((run) => run.attempt)).toEqual(Array.from({ length: times }, (_, n) => n + 1));
    await worker.until(() => worker.of('handled').filter(({ outcome }) => outcome === 'acked').length === 20, 'the good ones');
    const [letter] = await worker.broker.deadLetters(worker.stream).list();
    expect(letter).toMatchObject({ group: 'billing', reason: 'retries', attempts: times, errorName: 'Error', errorMessage: 'no' });
  });

  it('waits for its backoff, parked and not in memory', async () => {
    const worker = work({
      handler: () => {
        throw new Error('no');
      },
      options: { maxRetries: 3, backoff: (attempt) => 100 * 2 ** attempt },
    });
    await worker.broker.publish(worker.stream, { n: 1 });
    await worker.until(() => worker.of('deadLettered').length === 1, 'the dead letter');
    const gaps = worker.runs.slice(1).map((run, at) => run.atMs - (worker.runs[at]?.atMs ?? 0));
    [200, 400, 800].forEach((ms, at) => {
      expect(gaps[at]).toBeGreaterThanOrEqual(ms - 2);
      expect(gaps[at]).toBeLessThan(ms + 250);
    });
  });

  it('is given up at once where it says so, or where a retry is not worth it', async () => {
    const worker = work({
      handler: (body: { n: number }, message) => {
        if (body.n === 0) throw new RejectMessage('unknown customer');
        if (body.n === 1) message.reject('twice paid');
        if (body.n === 2) throw new TypeError('bug');
      },
      options: { retryIf: (error) => !(error instanceof TypeError) },
    });
    await worker.broker.publishMany(worker.stream, numbers(3));
    await worker.until(() => worker.of('deadLettered').length === 3, 'three dead letters');
    expect(worker.of('deadLettered').map(({ reason }) => reason)).toEqual(['rejected', 'rejected', 'notRetryable']);
    expect(worker.runs).toHaveLength(3);
  });

  it('decides on its delay with nack and RetryMessage', async () => {
    const worker = work({
      handler: (body: { n: number }, message) => {
        if (message.attempt > 1) return;
        if (body.n === 0) message.nack({ delayMs: 30 });
        else throw new RetryMessage('later', 30);
      },
      options: { backoff: fixed(60_000) },
    });
    await worker.broker.publishMany(worker.stream, numbers(2));
    await worker.until(() => worker.of('handled').filter(({ outcome }) => outcome === 'acked').length === 2, 'both acked');
    expect(worker.runs.map((run) => run.attempt).toSorted((a, b) => a - b)).toEqual([1, 1, 2, 2]);
  });

  it('hands back without spending an attempt, until its hand-backs are spent', async () => {
    const worker = work({ handler: (_body, message) => message.release(), options: { maxHandBacks: 3, maxRetries: 2 } });
    await worker.broker.publish(worker.stream, { n: 1 });
    await worker.until(() => worker.of('deadLettered').length === 1, 'the end');
    expect(worker.runs.map((run) => run.attempt)).toEqual([1, 1, 1, 1, 2, 3]);
    expect(worker.of('deadLettered')).toMatchObject([{ reason: 'died', attempts: 3 }]);
  });
});

describe('how a message is acked', () => {
  it('the first decision wins', async () => {
    const worker = work({
      handler: (body: { n: number }, message) => {
        if (body.n === 0) {
          message.ack();
          throw new Error('after the ack');
        }
        message.nack({ delayMs: 10 });
        message.ack();
      },
      options: { maxRetries: 1 },
    });
    await worker.broker.publishMany(worker.stream, numbers(2));
    await worker.until(() => worker.of('deadLettered').length === 1, 'the nacked one');
    expect(worker.of('handled').map(({ outcome }) => outcome)).toEqual(['acked', 'retried', 'dead']);
  });

  it('ackAlways acks what throws', async () => {
    const worker = work({
      handler: () => Promise.reject(new Error('no')),
      options: { ackPolicy: 'ackAlways' },
    });
    await worker.broker.publish(worker.stream, { n: 1 });
    await worker.until(() => worker.of('handled').length === 1, 'the end');
    expect(worker.of('handled')).toMatchObject([{ outcome: 'acked', error: { message: 'no' } }]);
  });

  it('ackFirst acks before it starts, and runs once whatever happens', async () => {
    let pending: number | null = -1;
    const worker = work({
      handler: async () => {
        pending = (await worker.broker.stats(worker.stream, { group: worker.group })).pending;
        throw new Error('no');
      },
      options: { ackPolicy: 'ackFirst' },
    });
    await worker.broker.publish(worker.stream, { n: 1 });
    await worker.until(() => worker.of('handled').length === 1, 'the end');
    expect(pending).toBe(0);
    expect(worker.of('handled')).toMatchObject([{ outcome: 'acked', error: { message: 'no' } }]);
  });

  it('manual holds the slot until it is decided, also after the method has returned', async () => {
    const decide: (() => void)[] = [];
    const worker = work({
      handler: (_body, message) => void decide.push(() => message.ack()),
      options: { ackPolicy: 'manual', concurrency: 2 },
    });
    await worker.broker.publishMany(worker.stream, numbers(3));
    await worker.until(() => decide.length === 2, 'two started');
    expect(worker.consumers.status()).toMatchObject([{ running: 2, waiting: 0 }]);
    decide[0]?.();
    await worker.until(() => decide.length === 3, 'the third');
    expect(worker.of('handled')).toHaveLength(1);
    decide[1]?.();
    decide[2]?.();
    await worker.until(() => worker.of('handled').length === 3, 'all');
  });
});

describe('a handler that hangs', () => {
  it('frees its slot after timeoutMs, is retried, and its late end changes nothing', async () => {
    const release: (() => void)[] = [];
    let reason: unknown;
    const worker = work({
      handler: async (body: { n: number }, message) => {
        if (message.attempt > 1 || body.n > 1) return;
        message.signal.addEventListener('abort', () => (reason = message.signal.reason));
        await new Promise<void>((resolve) => release.push(resolve));
      },
      options: { timeoutMs: 100, backoff: fixed(10) },
      module: { shutdown: { abortMs: 50 } },
    });
    await worker.broker.publish(worker.stream, { n: 1 });
    await worker.until(() => worker.of('handled').length === 2, 'the retry');
    release[0]?.();
    const { id } = await worker.broker.publish(worker.stream, { n: 2 });
    await worker.until(() => worker.of('handled').some((event) => event.id === id), 'a message after the late end');
    expect(worker.of('handled').map(({ outcome }) => outcome)).toEqual(['retried', 'acked', 'acked']);
    expect(worker.runs.map((run) => run.attempt)).toEqual([1, 2, 1]);
    expect(worker.of('fenced')).toEqual([]);
    expect(reason).toMatchObject({ code: 'RILLKIT_HANDLER_TIMEOUT' });
  });
});
