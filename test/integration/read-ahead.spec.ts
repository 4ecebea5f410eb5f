import { afterEach, describe, expect, inject, it } from 'vitest';
import { Stream } from '../../lib/broker/stream.js';
import { fixed } from '../../lib/consumer/backoff.js';
import { uniqueName } from '../support/redis-server.js';
import { Worker, type WorkerOptions } from '../support/workers.js';

const url = inject('redisUrl');
const workers: Worker[] = [];

function work(options: Omit<WorkerOptions, 'url'>): Worker {
  const worker = new Worker({ url, ...options }).start();
  workers.push(worker);
  return worker;
}

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

const numbers = (count: number) => Array.from({ length: count }, (_, n) => ({ body: { n } }));

describe('reading ahead', () => {
  it('lets nobody wait behind a slow message: another process has the rest within a second', async () => {
    const stream = new Stream(uniqueName());
    let slowStarted = 0;
    let end: () => void = () => {};
    const handler = async (body: { n: number }): Promise<void> => {
      if (body.n !== 250) return;
      slowStarted = Date.now();
      await new Promise<void>((resolve) => (end = resolve));
    };
    const first = work({ stream, handler });
    await first.untilConsuming();
    // Some fast ones first, so that it reads ahead.
    await first.broker.publishMany(
      stream,
      numbers(100).map(() => ({ body: { n: -1 } })),
    );
    await first.until(() => first.of('handled').length === 100, 'the fast ones');
    const second = work({ stream, handler });
    await second.untilConsuming();
    const before = [first, second].reduce((sum, one) => sum + one.of('handled').length, 0);
    await first.broker.publishMany(stream, numbers(500));

    const handled = (): number => first.of('handled').length + second.of('handled').length - before;
    await Promise.race([first, second].map((one) => one.until(() => handled() === 499, 'all but the slow one')));
    expect(Date.now() - slowStarted).toBeLessThan(1_000);
    end();
    await Promise.race([first, second].map((one) => one.until(() => handled() === 500, 'the slow one too')));

    const runs = [...first.runs, ...second.runs];
    expect(runs).toHaveLength(600);
    // A number above a thousand was handed back once, above two thousand twice.
    expect(Math.max(...runs.map((run) => run.number))).toBeLessThan(2_000);
    expect(runs.every((run) => run.attempt === 1)).toBe(true);
  });

  it('never has more than its slots unfinished with a slow handler, however long the backlog', async () => {
    const stream = new Stream(uniqueName());
    let running = 0;
    let most = 0;
    let mostUnfinished = 0;
    const worker = work({
      stream,
      handler: async () => {
        running += 1;
        most = Math.max(most, running);
        const [status] = worker.consumers.status();
        mostUnfinished = Math.max(mostUnfinished, (status?.running ?? 0) + (status?.waiting ?? 0));
        await new Promise((resolve) => setTimeout(resolve, 210));
        running -= 1;
      },
      options: { concurrency: 4 },
    });
    await worker.broker.publishMany(stream, numbers(16));
    await worker.until(() => worker.of('handled').length === 16, 'all');
    expect(most).toBe(4);
    expect(mostUnfinished).toBe(4);
    expect(worker.of('handedBack')).toEqual([]);
  });

  it('retries on time under a steady backlog of fast messages', async () => {
    const stream = new Stream(uniqueName());
    let publishing = true;
    const worker = work({
      stream,
      handler: (body: { n: number }) => {
        if (body.n === 0) throw new Error('no');
      },
      options: { backoff: (attempt) => 100 * 2 ** attempt, maxRetries: 3 },
    });
    await worker.untilConsuming();
    const backlog = (async () => {
      while (publishing) await worker.broker.publishMany(stream, numbers(200).slice(1));
    })();
    const { id } = await worker.broker.publish(stream, { n: 0 });
    await worker.until(() => worker.of('deadLettered').length === 1, 'the dead letter');
    publishing = false;
    await backlog;
    const runs = worker.runs.filter((run) => run.id === id);
    const gaps = runs.slice(1).map((run, at) => run.atMs - (runs[at]?.atMs ?? 0));
    [200, 400, 800].forEach((ms, at) => {
      expect(gaps[at]).toBeGreaterThanOrEqual(ms - 2);
      expect(gaps[at]).toBeLessThan(ms + 250);
    });
    expect(worker.of('handled').length).toBeGreaterThan(1_000);
  });

  it('starves neither new messages nor due ones when there are plenty of both', async () => {
    const stream = new Stream(uniqueName());
    const worker = work({
      stream,
      handler: (body: { n: number }, message) => {
        if (body.n < 300 && message.attempt === 1) throw new Error('once');
      },
      options: { backoff: fixed(0), concurrency: 2 },
    });
    await worker.broker.publishMany(stream, numbers(600));
    await worker.until(() => worker.of('handled').length === 900, 'all, and the retries');
    const second = worker.runs.findIndex((run) => run.attempt === 2);
    const lastNew = worker.runs.findLastIndex((run) => run.attempt === 1);
    expect(second).toBeLessThan(200);
    expect(lastNew).toBeGreaterThan(600);
  });
});
