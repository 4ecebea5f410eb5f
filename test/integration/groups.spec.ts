import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { watchRejections } from '../support/oracle.js';
import { Scene } from '../support/scene.js';
import { uniqueName } from '../support/redis-server.js';

const expectNoRejections = watchRejections();
let scene: Scene;

beforeEach(async () => {
  scene = await Scene.open();
});

afterEach(async () => {
  await scene.close();
  expectNoRejections();
});

const calls = async (command: string): Promise<number> =>
  Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await scene.redis.info('commandstats'))?.[1] ?? 0);

describe('a group that vanishes under a blocked read', () => {
  it.each(['FLUSHALL', 'DEL', 'XGROUP DESTROY'] as const)('G1 %s, three times in a row, is made again and loses nothing', async (how) => {
    const worker = scene.worker({ handler: () => {}, options: { concurrency: 4 } });
    await worker.untilConsuming();
    for (let round = 1; round <= 3; round += 1) {
      await scene.publish(3);
      await scene.untilEnded();
      await expect.poll(() => scene.redis.client('LIST'), { timeout: 5_000 }).toMatch(/cmd=xreadgroup/);
      if (how === 'FLUSHALL') await scene.redis.flushall();
      if (how === 'DEL') await scene.redis.del(scene.stream);
      if (how === 'XGROUP DESTROY') await scene.redis.xgroup('DESTROY', scene.stream, 'billing');
      // Before the worker can have noticed, and after.
      await scene.publish(2);
      await worker.until(() => worker.of('groupMade').filter(({ again }) => again).length === round, `the group, round ${round}`);
      await scene.publish(2);
      await scene.untilEnded();
    }
    expect(worker.of('loopFailed').length).toBeLessThan(20);
    await scene.end({ twice: how !== 'XGROUP DESTROY' });
  });

  it('G1 of several streams is made again without disturbing the others', async () => {
    const other = uniqueName('other');
    const worker = scene.worker({ handler: () => {}, also: [{ stream: other, handler: () => {} }] });
    await worker.until(() => worker.of('consuming').length === 2, 'both');
    // Ids are unique in their stream alone.
    const runs = (stream: string): number => new Set(worker.runs.flatMap((run) => (run.stream === stream ? [run.id] : []))).size;
    for (let round = 1; round <= 3; round += 1) {
      await Promise.all([scene.publish(2), scene.publish(2, other)]);
      await worker.until(() => runs(scene.stream) === round * 4 - 2 && runs(other) === round * 4 - 2, 'all');
      await scene.redis.del(other);
      await Promise.all([scene.publish(2), scene.publish(2, other)]);
      await worker.until(() => runs(scene.stream) === round * 4 && runs(other) === round * 4, 'all, again');
      expect(
        worker
          .of('groupMade')
          .filter(({ again }) => again)
          .map(({ stream }) => stream),
      ).toEqual(Array.from({ length: round }, () => other));
    }
    await scene.end();
  });
});

describe('a key of the wrong type where the stream should be', () => {
  it('G2 costs tens of calls, is told, recovers after repair, and a stop does not wait for it', async () => {
    const worker = scene.worker({ handler: () => {} });
    await worker.untilConsuming();
    await scene.publish(1);
    await scene.untilEnded();
    await scene.redis.multi().del(scene.stream).set(scene.stream, 'not a stream').exec();
    await worker.until(() => worker.of('loopFailed').length > 2, 'it is noticed');
    await scene.redis.config('RESETSTAT');
    const since = worker.of('loopFailed').length;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const made = (await calls('xgroup\\|create')) + (await calls('xreadgroup')) + (await calls('xpending'));
    expect(made).toBeLessThan(50);
    expect(worker.of('loopFailed').length - since).toBeLessThan(30);
    expect(worker.consumers.status()[0]?.failures).toBeGreaterThan(2);
    await scene.redis.del(scene.stream);
    const ids = await scene.publish(3);
    await scene.untilEnded(ids);
    await worker.until(() => worker.of('loopRecovered').length > 0, 'the news of it');
    await expect.poll(() => worker.consumers.status()[0]).toMatchObject({ failures: 0, unanswered: 0 });

    await scene.redis.multi().del(scene.stream).set(scene.stream, 'not a stream').exec();
    await worker.until(() => (worker.consumers.status()[0]?.failures ?? 0) > 3, 'failing again');
    const begun = Date.now();
    await worker.stop();
    expect(Date.now() - begun).toBeLessThan(2_000);
  });

  it('G2 among several streams of a group stops only its own', async () => {
    const wrong = uniqueName('wrong');
    await scene.redis.set(wrong, 'not a stream');
    const worker = scene.worker({ handler: () => {}, also: [{ stream: wrong, handler: () => {} }] });
    await worker.until(() => worker.of('loopFailed').length > 3, 'it is noticed');
    await scene.redis.config('RESETSTAT');
    for (let n = 0; n < 20; n += 1) {
      const since = Date.now();
      const ids = await scene.publish(1);
      await scene.untilEnded(ids);
      expect(Date.now() - since).toBeLessThan(500);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(worker.of('loopFailed').length).toBeLessThan(60);
    await scene.redis.del(wrong);
    const [id = ''] = await scene.publish(1, wrong);
    await scene.untilEnded([id]);
    await scene.end();
  });
});

describe('starting', () => {
  it('G3 ten workers at once on a missing stream make one group, and nobody resets it', async () => {
    for (let n = 0; n < 10; n += 1) scene.worker({ handler: () => {}, options: { concurrency: 2 } });
    await Promise.all(scene.workers.map((worker) => worker.untilConsuming()));
    await scene.publish(100);
    await scene.untilEnded();
    expect(scene.workers.flatMap((worker) => worker.of('groupMade'))).toHaveLength(1);
    expect(scene.workers.flatMap((worker) => worker.of('loopFailed'))).toEqual([]);
    scene.worker({ handler: () => {} });
    await scene.publish(10);
    await scene.untilEnded();
    await scene.end();
  });

  it('S6 is stopped at any moment of its start, and leaves nothing', async () => {
    await scene.publish(200);
    for (let ms = 0; ms < 60; ms += 3) {
      const worker = scene.worker({ handler: async () => {}, options: { concurrency: 5 } });
      await new Promise((resolve) => setTimeout(resolve, ms));
      await worker.stop();
    }
    scene.worker({ handler: async () => {}, options: { concurrency: 5 } });
    await scene.untilEnded();
    expect(scene.workers.flatMap((one) => one.runs.map(({ attempt }) => attempt)).every((attempt) => attempt === 1)).toBe(true);
    await scene.end();
  });
});
