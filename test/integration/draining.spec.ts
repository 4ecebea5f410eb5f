import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

describe('a stop', () => {
  it('R9 with manual messages that nobody decides on hands them back, their attempts not counted', async () => {
    const first = scene.worker({
      handler: () => {},
      options: { ackPolicy: 'manual', concurrency: 3, prefetch: 3 },
      module: { ...FAST, shutdown: { graceMs: 100, abortMs: 50 } },
    });
    await first.untilConsuming();
    await scene.publish(6);
    await first.until(() => first.runs.length === 3 && first.consumers.status()[0]?.waiting === 3, 'three held, three waiting');
    await first.stop();
    const second = scene.worker({ handler: () => {}, options: { concurrency: 6 } });
    await scene.untilEnded();
    expect(second.runs.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1, 1]);
    await scene.end();
  });

  it('while the lease is lost lets handlers end, and leaves nothing behind when Redis is back', async () => {
    const gates: (() => void)[] = [];
    const worker = scene.worker({
      handler: () => new Promise<void>((resolve) => gates.push(resolve)),
      options: { concurrency: 2 },
      module: { ...FAST, shutdown: { graceMs: 4_000, abortMs: 500 } },
    });
    await worker.untilConsuming();
    await scene.publish(2);
    await worker.until(() => gates.length === 2, 'two run');
    const stopped = worker.stop();
    scene.proxy.refuse();
    await worker.until(() => worker.of('leaseLost').length === 1, 'the end of the lease');
    gates[0]?.();
    scene.proxy.accept();
    await worker.until(() => worker.of('leaseRegained').length === 1, 'the lease');
    gates[1]?.();
    await stopped;
    const second = scene.worker({ handler: () => {}, module: FAST });
    await scene.untilEnded();
    expect(second.runs.length).toBeLessThanOrEqual(1);
    // It stopped reading without a connection to make sure of it: others bury the name.
    await scene.end({ twice: true, unburied: worker.consumers.status().map((status) => status.worker) });
  });

  it('N7 of a worker whose name another has taken meanwhile touches nothing of the other', async () => {
    const gates: (() => void)[] = [];
    const named = { ...FAST, worker: 'w1', shutdown: { graceMs: 6_000, abortMs: 100 } };
    const first = scene.worker({ handler: () => new Promise<void>((resolve) => gates.push(resolve)), module: named });
    await first.untilConsuming();
    await scene.publish(1);
    await first.until(() => gates.length === 1, 'a run');
    scene.proxy.stall();
    const held: (() => void)[] = [];
    const second = scene.worker({
      url: scene.server.url,
      handler: () => new Promise<void>((resolve) => held.push(resolve)),
      module: named,
    });
    await second.untilConsuming();
    await second.until(() => held.length === 1, 'the message, elsewhere');
    const stopped = first.stop();
    scene.proxy.resume();
    await first.until(() => first.of('nameTaken').length === 1, 'the news of it');
    gates[0]?.();
    await stopped;
    expect(await scene.redis.zscore(`rillkit:leases:${scene.stream}:billing`, 'w1')).not.toBeNull();
    expect((await scene.redis.xpending(scene.stream, 'billing', '-', '+', 10, 'w1')).length).toBe(1);
    held[0]?.();
    await second.until(() => second.of('settled').length === 1, 'its ack');
    await scene.end({ twice: true });
  });
});

describe('ackFirst', () => {
  it('O13 whose ack loses its reply is not started a second time, and none runs twice', async () => {
    const worker = scene.worker({ handler: () => {}, options: { ackPolicy: 'ackFirst', concurrency: 3 }, module: FAST });
    await worker.untilConsuming();
    await scene.publish(1);
    await scene.untilEnded();
    const lost = scene.proxy.loseReplyTo('EVALSHA');
    await scene.publish(30);
    await lost;
    await scene.publish(10);
    await expect.poll(async () => (await scene.redis.xpending(scene.stream, 'billing'))[0], { timeout: 5_000 }).toBe(0);
    await expect.poll(() => worker.consumers.status(), { timeout: 5_000 }).toMatchObject([{ running: 0, waiting: 0, unanswered: 0 }]);
    expect(new Set(worker.runs.map(({ id }) => id)).size).toBe(worker.runs.length);
    expect(worker.runs.length).toBeGreaterThanOrEqual(41 - 3);
    await scene.end({ published: worker.runs.map(({ id }) => id) });
  });

  it('given up on while its ack has no answer is not started afterwards', async () => {
    const worker = scene.worker({
      handler: () => {},
      options: { ackPolicy: 'ackFirst' },
      module: { ...FAST, shutdown: { graceMs: 100, abortMs: 100 } },
    });
    await worker.untilConsuming();
    await scene.publish(1);
    await scene.untilEnded();
    await expect.poll(() => scene.redis.client('LIST')).toMatch(/cmd=xreadgroup/);
    // The read is answered, the ack is not.
    worker.store.settle = () => new Promise(() => {});
    await scene.publish(1);
    await expect.poll(() => worker.consumers.status()[0]?.unanswered).toBe(1);
    await worker.stop();
    expect(worker.runs).toHaveLength(1);
  });
});
