import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fixed } from '../../lib/consumer/backoff.js';
import { watchRejections } from '../support/oracle.js';
import { Scene } from '../support/scene.js';
import type { Worker } from '../support/workers.js';

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
/** A handler that fails each message once, so that what is parked goes through the fault too. */
const failsOnce = async (_body: unknown, { attempt }: { readonly attempt: number }): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  if (attempt === 1) throw new Error('the first time');
};
const RETRIES = { concurrency: 10, maxRetries: 900, maxHandBacks: 1_000, backoff: fixed(20) };
const settled = (worker: Worker): number => worker.of('settled').reduce((sum, { count }) => sum + count, 0);

/** A message every few milliseconds until it is told to stop, each answered by Redis. */
function publishing(): () => Promise<void> {
  const stop = new AbortController();
  const run = (async () => {
    while (!stop.signal.aborted) {
      await scene.publish(1).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  return () => {
    stop.abort();
    return run;
  };
}

describe('a connection that is lost', () => {
  it('O2 each of ours in turn, several times: no message is left behind', async () => {
    const workers = [
      scene.worker({ handler: failsOnce, options: RETRIES, module: FAST }),
      scene.worker({ handler: failsOnce, options: RETRIES, module: FAST }),
    ];
    await Promise.all(workers.map((worker) => worker.untilConsuming()));
    const stop = publishing();
    for (let round = 0; round < 5; round += 1) {
      const ids = [...String(await scene.redis.client('LIST')).matchAll(/^id=(\d+) .* name=rillkit:/gm)].map(([, id = '']) => id);
      expect(ids.length).toBeGreaterThan(0);
      for (const id of ids) {
        await scene.redis.client('KILL', 'ID', id).catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
    }
    await stop();
    await scene.untilEnded();
    await scene.end({ twice: true });
  });

  it('O4 O13 cut at random moments, replies swallowed before: what was answered is answered once', async () => {
    const worker = scene.worker({ handler: failsOnce, options: RETRIES, module: FAST });
    await worker.untilConsuming();
    const stop = publishing();
    for (let round = 0; round < 20; round += 1) {
      scene.proxy.swallowReplies();
      await new Promise((resolve) => setTimeout(resolve, 10 + round * 3));
      scene.proxy.resume();
      scene.proxy.cut();
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    await stop();
    await scene.untilEnded();
    expect(worker.of('deadLettered')).toEqual([]);
    await scene.end({ twice: true });
  });

  it('O4 after the handler succeeded: one run, acked later', async () => {
    const worker = scene.worker({ handler: () => scene.proxy.refuse(), options: { maxRetries: 0 } });
    await worker.untilConsuming();
    await scene.publish(1);
    await worker.until(() => worker.runs.length === 1, 'a run');
    await worker.until(() => worker.of('loopFailed').some(({ loop }) => loop === 'settle'), 'a settlement that fails');
    scene.proxy.accept();
    await worker.until(() => settled(worker) === 1, 'the ack');
    expect(worker.runs).toHaveLength(1);
    await scene.end();
  });

  it('C6 with the reply of a read that brought a message: it is run here, soon, its attempt not spent', async () => {
    const worker = scene.worker({ handler: () => {}, module: FAST });
    await worker.untilConsuming();
    await expect.poll(() => scene.redis.client('LIST'), { timeout: 5_000 }).toMatch(/cmd=xreadgroup/);
    scene.proxy.swallowReplies();
    await scene.publish(1);
    await expect.poll(async () => (await scene.redis.xpending(scene.stream, 'billing'))[0]).toBe(1);
    scene.proxy.resume();
    scene.proxy.cut();
    await scene.untilEnded();
    expect(worker.runs).toMatchObject([{ attempt: 1, number: 1_001 }]);
    await scene.end();
  });
});

describe('a Redis that is away', () => {
  it('O1 is killed and started again ten times at random moments, keeping what it wrote', { timeout: 90_000 }, async () => {
    await scene.close();
    scene = await Scene.open(['--appendonly', 'yes', '--appendfsync', 'always']);
    const workers = [1, 2].map(() => scene.worker({ handler: failsOnce, options: RETRIES, module: FAST }));
    await Promise.all(workers.map((worker) => worker.untilConsuming()));
    const stop = publishing();
    for (let round = 0; round < 10; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100 + ((round * 137) % 400)));
      await scene.server.kill('SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, (round * 91) % 300));
      await scene.server.restart();
    }
    await stop();
    await scene.untilEnded(scene.published, 30_000);
    expect(scene.published.length).toBeGreaterThan(50);
    await scene.end({ twice: true });
  });

  it('C12 C23 for two leases, with work in flight, a fresh process being the first to beat: nobody is declared dead', async () => {
    const gates: (() => void)[] = [];
    const handler = (): Promise<void> => new Promise((resolve) => gates.push(resolve));
    const workers = [1, 2, 3].map(() => scene.worker({ handler, options: { concurrency: 2, maxRetries: 0 }, module: FAST }));
    await Promise.all(workers.map((worker) => worker.untilConsuming()));
    await scene.publish(6);
    await expect.poll(() => gates.length).toBe(6);
    await scene.server.kill('SIGSTOP');
    await Promise.all(workers.map((worker) => worker.until(() => worker.of('leaseLost').length === 1, 'the end of its lease')));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    // The others come back only after the fresh one has beaten.
    scene.proxy.refuse();
    await scene.server.kill('SIGCONT');
    const fresh = scene.worker({ url: scene.server.url, handler, module: FAST });
    await fresh.untilConsuming();
    scene.proxy.accept();
    await Promise.all(workers.map((worker) => worker.until(() => worker.of('leaseRegained').length === 1, 'its lease')));
    const recovered = scene.workers.flatMap((worker) => worker.of('recovered'));
    expect(recovered).toEqual([]);
    for (const open of gates.splice(0)) open();
    const opening = setInterval(() => gates.splice(0).forEach((open) => open()), 10);
    await scene.untilEnded();
    clearInterval(opening);
    await scene.end({ twice: true });
  });

  it('S2 a stop with nothing unsettled does not wait for it', async () => {
    const worker = scene.worker({ handler: () => {} });
    await worker.untilConsuming();
    await scene.publish(1);
    await worker.until(() => settled(worker) === 1, 'the ack');
    scene.proxy.refuse();
    await worker.until(() => worker.of('disconnected').length > 0, 'the end of the connection');
    const begun = Date.now();
    await worker.stop();
    expect(Date.now() - begun).toBeLessThan(2_500);
  });
});

describe('a Redis that forgets or refuses', () => {
  it('O5 SCRIPT FLUSH at any moment heals by itself', async () => {
    const worker = scene.worker({ handler: failsOnce, options: RETRIES, module: FAST });
    await worker.untilConsuming();
    const stop = publishing();
    for (let round = 0; round < 40; round += 1) {
      await scene.redis.script('FLUSH');
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    await stop();
    await scene.untilEnded();
    expect(worker.of('loopFailed')).toEqual([]);
    await scene.end();
  });

  it('O10 R3 out of memory for three leases: acks, retries, beats go on, dead letters wait, good messages are not held up', async () => {
    const worker = scene.worker({
      handler: ({ n }: { n: number }, { attempt }) => {
        if (n % 10 === 0) throw new Error('never');
        if (n % 10 === 1 && attempt === 1) throw new Error('once');
      },
      options: { concurrency: 4, maxRetries: 1, backoff: fixed(50) },
      module: FAST,
    });
    await worker.untilConsuming();
    await scene.publish(1);
    await worker.until(() => worker.runs.length > 0, 'the group is there');
    await scene.redis
      .multi(Array.from({ length: 200 }, (_, n) => ['xadd', scene.stream, '*', 'body', JSON.stringify({ n: n + 1 })]))
      .exec();
    const all = (await scene.redis.xrange(scene.stream, '-', '+')).map(([id]) => id);
    scene.published.splice(0, Infinity, ...all);
    await scene.redis.config('SET', 'maxmemory', '1');
    const good = all.filter((_, n) => n % 10 !== 0);
    await scene.untilEnded(good);
    await worker.until(() => worker.of('deadLetterRefused').length > 0, 'a dead letter that is refused');
    const begun = Date.now();
    await worker.until(() => Date.now() - begun > 3_000, 'three leases').catch(() => {});
    expect(worker.of('leaseLost')).toEqual([]);
    expect(worker.of('loopFailed').filter(({ loop }) => loop === 'read' || loop === 'settle')).toEqual([]);
    await scene.redis.config('SET', 'maxmemory', '0');
    await scene.untilEnded(scene.published, 25_000);
    expect(worker.of('deadLettered').every(({ attempts, reason }) => attempts === 2 && reason === 'retries')).toBe(true);
    await scene.end();
  });
});
