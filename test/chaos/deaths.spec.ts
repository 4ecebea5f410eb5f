import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { Processes } from '../support/processes.js';
import { Floor } from '../support/worker-processes.js';

/** A lease in these tests; the bounds are in leases and beats, as the product's are. */
const LEASE_MS = 1_500;
const BEAT_MS = LEASE_MS / 3;
const MODULE = { liveness: { leaseMs: LEASE_MS }, blockMs: 1_000 };

const processes = new Processes();
let floor: Floor;

beforeEach(() => {
  floor = new Floor(inject('redisUrl'), processes);
});

afterEach(async () => {
  await processes.killAll();
  await floor.close();
});

const many = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

describe('a worker that dies', () => {
  it(
    'C1 hands its ten running messages to another within the lease and a beat, whose own work goes on untouched',
    { timeout: 60_000 },
    async () => {
      const options = { concurrency: 10 };
      const first = await floor.worker({ options, module: MODULE });
      await floor.publish(...many(10, { until: 'never', waitMs: 0 }));
      await floor.until((lines) => lines.filter(({ what }) => what === 'start').length === 10, 'ten running');
      const second = await floor.worker({ options: { concurrency: 20 }, module: MODULE });
      await floor.publish(...many(5, { until: `gate:${floor.stream}` }));
      await floor.until((lines) => lines.filter(({ pid }) => pid === second.pid).length === 5, 'five more running elsewhere');

      first.signal('SIGKILL');
      const killedAt = Date.now();
      const lines = await floor.until(
        (all) => all.filter(({ pid, what }) => pid === second.pid && what === 'start').length === 15,
        'the ten again',
      );
      const again = lines.filter(({ pid, what }) => pid === second.pid && what === 'start').slice(5);
      const lastMs = Math.max(...again.map(({ atMs }) => atMs)) - killedAt;
      console.log(`the dead worker's ten messages ran again within ${lastMs} ms; lease ${LEASE_MS} ms`);
      expect(lastMs).toBeLessThan(LEASE_MS + BEAT_MS + 1_000);
      expect(again.map(({ attempt }) => attempt)).toEqual(many(10, 2));
      await floor.redis.set(`gate:${floor.stream}`, '1');
      const ended = await floor.until((all) => all.filter(({ what }) => what === 'end').length >= 5, 'the five end');
      expect(ended.filter(({ what, attempt }) => what === 'end' && attempt === 1)).toHaveLength(5);
    },
  );

  it(
    'C2 is followed by a worker of the same configured name, which adopts nothing and waits for its end',
    { timeout: 60_000 },
    async () => {
      const first = await floor.worker({ worker: 'w1', module: MODULE });
      await floor.publish({ until: `gate:${floor.stream}` });
      await floor.until((lines) => lines.some(({ what }) => what === 'start'), 'a run');
      await first.kill();
      await floor.redis.set(`gate:${floor.stream}`, '1');
      const second = await floor.worker({ worker: 'w1', module: MODULE });
      await floor.until((lines) => lines.some(({ what }) => what === 'end'), 'the run of the second');
      await floor.settled();
      expect(second.output).toContain('nameTaken');
      expect((await floor.lines('start')).map(({ attempt }) => attempt)).toEqual([1, 2]);
    },
  );

  it('C7 with each attempt is followed by a dead letter, and the others are handled', { timeout: 60_000 }, async () => {
    const options = { maxRetries: 1 };
    const over = new AbortController();
    const keeper = (async () => {
      while (!over.signal.aborted) {
        const child = await floor.worker({ options, module: MODULE }).catch(() => null);
        await child?.ended;
      }
    })();
    await floor.publish({ exit: true }, ...many(20, {}));
    await expect.poll(async () => (await floor.deadLetters()).length, { timeout: 40_000 }).toBe(1);
    await floor.settled();
    over.abort();
    await processes.killAll();
    await keeper;
    const [letter] = await floor.deadLetters();
    expect(letter?.get('rillkit:reason')).toBe('died');
    expect(letter?.get('rillkit:attempts')).toBe('2');
    const ended = new Set((await floor.lines('end')).map(({ id }) => id));
    expect(ended.size).toBe(20);
  });

  it(
    'C5 in its sleep wakes up fenced: frozen past its lease in its first delivery, its late ack changes nothing',
    { timeout: 60_000 },
    async () => {
      const gate = `gate:${floor.stream}`;
      const zombie = await floor.worker({ module: MODULE });
      const [id] = await floor.publish({ until: gate });
      await floor.until((lines) => lines.some(({ what }) => what === 'start'), 'a run');
      zombie.signal('SIGSTOP');
      await floor.worker({ module: MODULE });
      await floor.until((lines) => lines.filter(({ what }) => what === 'start').length === 2, 'a run elsewhere');
      await floor.redis.set(gate, '1');
      await floor.settled();
      zombie.signal('SIGCONT');
      const lines = await floor.until((all) => all.some(({ pid, type }) => pid === zombie.pid && type === 'fenced'), 'the fence');
      expect(lines.filter(({ type }) => type === 'fenced').map((line) => line.id)).toEqual([id]);
      const [first, second] = lines.filter(({ what }) => what === 'start');
      expect(second && first && second.fence > first.fence).toBe(true);
      await zombie.line(/^leaseLost/);
      const [, total] = await zombie.line(/^rillkit_fenced_total\{.*\} (\d+)$/);
      expect(total).toBe('1');
      expect(await floor.deadLetters()).toEqual([]);
      expect(await floor.redis.xlen(floor.stream)).toBe(1);
    },
  );
});

describe('reading ahead of a poison', () => {
  it.each([0, 3])(
    'C26 costs no innocent message its attempts: it alone ends among the dead letters, with %i retries',
    { timeout: 90_000 },
    async (maxRetries) => {
      const options = { maxRetries, concurrency: 1 };
      const over = new AbortController();
      const keeper = (async () => {
        while (!over.signal.aborted) {
          const child = await floor.worker({ options, module: MODULE }).catch(() => null);
          await child?.ended;
        }
      })();
      await floor.publish(...many(50, {}), { exit: true }, ...many(50, {}));
      await expect.poll(async () => (await floor.deadLetters()).length, { timeout: 60_000 }).toBeGreaterThan(0);
      await expect.poll(async () => new Set((await floor.lines('end')).map(({ id }) => id)).size, { timeout: 20_000 }).toBe(100);
      await floor.settled();
      over.abort();
      await processes.killAll();
      await keeper;
      expect(await floor.deadLetters()).toHaveLength(1);
    },
  );
});
