import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { Processes } from '../support/processes.js';
import { Floor } from '../support/worker-processes.js';

const processes = new Processes();
let floor: Floor;

beforeEach(() => {
  floor = new Floor(inject('redisUrl'), processes);
});

afterEach(async () => {
  await processes.killAll();
  await floor.close();
});

describe('SIGTERM', () => {
  it(
    'S3 with ten handlers that outlive the grace: all ten run elsewhere within a second of the deadline, their attempts not counted',
    { timeout: 60_000 },
    async () => {
      const graceMs = 1_000;
      const abortMs = 500;
      const options = { concurrency: 10 };
      const leaves = await floor.worker({ options, module: { shutdown: { graceMs, abortMs } } });
      await floor.publish(...Array.from({ length: 10 }, () => ({ until: `gate:${floor.stream}` })));
      await floor.until((lines) => lines.filter(({ what }) => what === 'start').length === 10, 'ten running');
      const stays = await floor.worker({ options });
      leaves.signal('SIGTERM');
      const deadline = Date.now() + graceMs + abortMs;
      const lines = await floor.until(
        (all) => all.filter(({ what, pid }) => what === 'start' && pid === stays.pid).length === 10,
        'ten elsewhere',
      );
      const again = lines.filter(({ what, pid }) => what === 'start' && pid === stays.pid);
      const lateMs = Math.max(...again.map(({ atMs }) => atMs)) - deadline;
      console.log(`the last of ten ran elsewhere ${lateMs} ms after the deadline`);
      expect(lateMs).toBeLessThan(1_000);
      expect(again.map(({ attempt, number }) => [attempt, number])).toEqual(Array.from({ length: 10 }, () => [1, 1_001]));
      expect(lines.filter(({ what }) => what === 'aborted')).toHaveLength(10);
      expect((await leaves.ended).code ?? 143).toBe(143);
      await floor.redis.set(`gate:${floor.stream}`, '1');
      await floor.settled();
      expect((await floor.lines('end')).map(({ pid }) => pid)).toEqual(Array.from({ length: 10 }, () => stays.pid));
    },
  );

  it('S5 in the middle of a handler lets it finish its work, and the process ends by itself', { timeout: 60_000 }, async () => {
    const worker = await floor.worker();
    await floor.publish({ waitMs: 500 });
    await floor.until((lines) => lines.some(({ what }) => what === 'start'), 'a run');
    worker.signal('SIGTERM');
    await worker.ended;
    expect((await floor.lines()).map(({ what }) => what)).toEqual(['start', 'end']);
    expect(await floor.pending()).toEqual([]);
    expect(await floor.redis.xinfo('CONSUMERS', floor.stream, 'billing')).toEqual([]);
    expect(worker.output).not.toContain('unhandledRejection');
  });
});
