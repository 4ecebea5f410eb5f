import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Beat, BeatRequest, Burial, Delivered, Place } from '../../../lib/store/stream-store.js';
import { fieldsOf } from '../../contract/store-suite.js';
import { startRedis, uniqueName, type RedisServer } from '../../support/redis-server.js';
import { openStore, type OpenedStore } from '../../support/redis-store.js';

let server: RedisServer;
let opened: OpenedStore;
let place: Place;

beforeAll(async () => {
  server = await startRedis();
  opened = await openStore(server.url);
});
afterAll(async () => {
  await opened.close();
  await server.stop();
});
beforeEach(async () => {
  place = { stream: uniqueName(), group: 'billing' };
  await opened.store.ensureGroup(place, 'beginning');
});

async function deliver(count: number): Promise<readonly Delivered[]> {
  for (let i = 0; i < count; i += 1) await opened.store.append(place.stream, fieldsOf({ body: String(i) }), { waitMs: 5_000 });
  return opened.store.read(place, 'w1', count);
}
const one = async (): Promise<Delivered> => {
  const [message] = await deliver(1);
  if (!message) throw new Error('nothing was delivered');
  return message;
};
const beatAs = async (worker: string, request: Partial<BeatRequest> = {}): Promise<Beat> => {
  const [answer] = await opened.store.beat([
    { ...place, worker, tag: 1, leaseMs: 6_000, scanMs: 10_000, since: null, takeOver: false, ...request },
  ]);
  if (!answer || answer instanceof Error) throw answer ?? new Error('no answer');
  return answer;
};
const burialOf = ({ id, number, fields }: Delivered): Burial => ({
  id,
  number,
  entry: fields,
  why: [['rillkit:entry', id]],
  refused: { delayMs: 0, attempt: 4 },
});
const keys = () => ({ leases: opened.store.keys.leases(place), parked: opened.store.keys.parked(place) });

/** Sets the group back: its last beat, and the leases of its workers, relative to now. */
const setBack = async (lastBeatMs: number, leasesMs: Record<string, number>): Promise<void> => {
  const [seconds = 0] = await opened.redis.time();
  const now = seconds * 1_000;
  const rows = Object.entries(leasesMs).flatMap(([worker, ms]) => [now + ms, worker]);
  await opened.redis.zadd(keys().leases, now + lastBeatMs, '~beat', ...rows);
};

/** One of each call that runs a script. */
async function everyScript(): Promise<void> {
  const { store } = opened;
  const [a, b, c, d] = await deliver(4);
  if (!a || !b || !c || !d) throw new Error('four were sent');
  expect(await beatAs('w1')).toMatchObject({ is: 'beaten' });
  const answers = await store.settle(place, 'w1', 8, [
    { id: a.id, number: 1, op: 'ack' },
    { id: b.id, number: 1, op: 'retry', delayMs: 0 },
    { id: c.id, number: 1, op: 'release', delayMs: 0 },
  ]);
  expect(answers.map(({ is }) => is)).toEqual(['ok', 'ok', 'ok']);
  expect((await store.take(place, 'w2', 10)).messages).toHaveLength(2);
  expect(await store.scan(place, { claimIdleMs: 60_000, count: 10 })).toMatchObject({ foreign: 0 });
  expect(await store.recover(place, 'w1', { count: 10, graveMs: 0 })).toMatchObject({ is: 'alive' });
  expect(await store.signOff(place, 'w1', { count: 10, maxHandBacks: 8, sure: true })).toMatchObject({ is: 'done', parked: 1 });
}

describe('SCRIPT FLUSH', () => {
  it('is healed by each script, also within one call of several beats', async () => {
    const { store, redis } = opened;
    for (let round = 0; round < 3; round += 1) {
      place = { stream: uniqueName(), group: 'billing' };
      await store.ensureGroup(place, 'beginning');
      await redis.script('FLUSH');
      await everyScript();
    }
    const message = await one();
    await redis.script('FLUSH');
    expect(await store.bury(place, 'w1', burialOf(message))).toEqual({ is: 'ok' });
    const [letter] = await store.deadLetters(place.stream, { after: null, count: 1 });
    await redis.script('FLUSH');
    expect(await store.replay(place.stream, letter?.id ?? '')).toMatchObject({ is: 'replayed' });
    await redis.script('FLUSH');
    const request = { ...place, tag: 1, leaseMs: 6_000, scanMs: 10_000, since: null, takeOver: false };
    const beats = await store.beat(['a', 'b', 'c'].map((worker) => ({ ...request, worker })));
    expect(beats).toMatchObject([{ is: 'beaten' }, { is: 'beaten' }, { is: 'beaten' }]);
  });
});

describe('a server without memory', () => {
  it('lets everything go on but publishes and dead letters, which say so and lose nothing', async () => {
    const { store, redis } = opened;
    const [a, b, c, d] = await deliver(4);
    if (!a || !b || !c || !d) throw new Error('four were sent');
    await beatAs('w1');
    const heartbeat = [{ ...place, worker: 'w1' }];
    await store.heartbeat(heartbeat, 60_000);
    await store.bury(place, 'w1', burialOf(d));
    const [letter] = await store.deadLetters(place.stream, { after: null, count: 1 });
    await redis.script('FLUSH');
    await redis.config('SET', 'maxmemory', 1);
    try {
      await expect(store.append(place.stream, a.fields, { waitMs: 5_000 })).rejects.toMatchObject({ fault: 'outOfMemory', applied: 'no' });
      await expect(store.replay(place.stream, letter?.id ?? '')).rejects.toMatchObject({ fault: 'outOfMemory', applied: 'no' });
      expect(await store.ensureGroup(place, 'beginning')).toBe('existed');
      await expect(store.ensureGroup({ ...place, group: 'another' }, 'new')).rejects.toMatchObject({ fault: 'outOfMemory' });
      expect(await beatAs('w1')).toMatchObject({ is: 'beaten', before: 'live' });
      await store.heartbeat(heartbeat, 60_000);
      expect(await store.bury(place, 'w1', burialOf(a))).toMatchObject({ is: 'refused', error: { fault: 'outOfMemory' } });
      expect(await store.settle(place, 'w1', 8, [{ id: b.id, number: 1, op: 'ack' }])).toEqual([{ is: 'ok' }]);
      expect(await store.settle(place, 'w1', 8, [{ id: c.id, number: 1, op: 'retry', delayMs: 0 }])).toEqual([{ is: 'ok' }]);
      // A second hand-back of this kind keeps rising.
      const again = (await store.take(place, 'w2', 10)).messages.find(({ id }) => id === a.id);
      expect(again?.number).toBe(1_005);
      expect(await store.bury(place, 'w2', burialOf({ ...a, number: 1_005 }))).toMatchObject({ is: 'refused' });
      expect((await store.take(place, 'w2', 10)).messages.map(({ number }) => number)).toEqual([2_005]);
      expect(await store.signOff(place, 'w1', { count: 10, maxHandBacks: 8, sure: true })).toMatchObject({ is: 'done' });
    } finally {
      await redis.config('SET', 'maxmemory', 0);
    }
    expect(await store.bury(place, 'w2', burialOf({ ...a, number: 2_005 }))).toEqual({ is: 'ok' });
    expect(await store.countDeadLetters(place.stream)).toBe(2);
  });
});

describe('a key of the wrong type', () => {
  it('where the dead letters should be parks the message; after repair there is one dead letter', async () => {
    const { store, redis } = opened;
    const message = await one();
    await redis.set(store.keys.deadLetters(place.stream), 'x');
    const refused = await store.bury(place, 'w1', burialOf(message));
    expect(refused).toMatchObject({ is: 'refused', error: { fault: 'wrongType' } });
    expect(await store.bury(place, 'w1', burialOf(message))).toEqual({ is: 'fenced' });
    expect((await store.stats(place)).deadLetters).toBeNull();
    const [again] = (await store.take(place, 'w2', 10)).messages;
    await redis.del(store.keys.deadLetters(place.stream));
    expect(again?.number).toBe(1_005);
    expect(await store.bury(place, 'w2', burialOf({ ...message, number: 1_005 }))).toEqual({ is: 'ok' });
    expect(await store.countDeadLetters(place.stream)).toBe(1);
  });

  it('where the parked ones should be stops neither beats nor acks, and loses nothing', async () => {
    const { store, redis } = opened;
    const [a, b] = await deliver(2);
    if (!a || !b) throw new Error('two were sent');
    await redis.set(keys().parked, 'x');
    expect(await beatAs('w1')).toMatchObject({ is: 'beaten', firstDueMs: null });
    const answers = await store.settle(place, 'w1', 8, [
      { id: a.id, number: 1, op: 'ack' },
      { id: b.id, number: 1, op: 'retry', delayMs: 0 },
    ]);
    expect(answers).toMatchObject([{ is: 'ok' }, { is: 'refused', error: { fault: 'wrongType' } }]);
    await expect(store.take(place, 'w2', 10)).rejects.toMatchObject({ fault: 'wrongType' });
    expect(await store.stats(place)).toMatchObject({ pending: 1, parked: null });
    await redis.del(keys().parked);
    expect(await store.settle(place, 'w1', 8, [{ id: b.id, number: 1, op: 'retry', delayMs: 0 }])).toEqual([{ is: 'ok' }]);
    expect((await store.take(place, 'w2', 10)).messages).toHaveLength(1);
  });

  it('where the stream should be is told by each call, and stops no beat', async () => {
    const { store, redis } = opened;
    await one();
    await beatAs('w1');
    await redis.set(place.stream, 'x');
    const wrongType = { code: 'RILLKIT_STORE', fault: 'wrongType', applied: 'no' };
    await expect(store.read(place, 'w1', 1)).rejects.toMatchObject(wrongType);
    await expect(store.ensureGroup(place, 'beginning')).rejects.toMatchObject(wrongType);
    await expect(store.append(place.stream, [], { waitMs: 100 })).rejects.toMatchObject({ fault: 'refused' });
    await expect(store.append(place.stream, fieldsOf({ body: '1' }), { waitMs: 100 })).rejects.toMatchObject(wrongType);
    await expect(store.scan(place, { claimIdleMs: 1, count: 1 })).rejects.toMatchObject(wrongType);
    await expect(store.signOff(place, 'w1', { count: 1, maxHandBacks: 8, sure: true })).rejects.toMatchObject(wrongType);
    expect(await store.settle(place, 'w1', 8, [{ id: '1-1', number: 1, op: 'ack' }])).toMatchObject([{ is: 'refused' }]);
    expect(await beatAs('w1')).toMatchObject({ is: 'beaten', before: 'live' });
    expect(await store.stats(place)).toMatchObject({ length: null, undelivered: null, pending: null });
  });
});

describe('rows of parked messages that are gone', () => {
  it('are made again by a scan, as due now', async () => {
    const { store, redis } = opened;
    const messages = await deliver(500);
    await beatAs('w1');
    await store.settle(
      place,
      'w1',
      8,
      messages.map(({ id, number }) => ({ id, number, op: 'retry', delayMs: 60_000 })),
    );
    await redis.zrem(keys().parked, ...messages.slice(100, 400).map(({ id }) => id));
    expect(await store.scan(place, { claimIdleMs: 60_000, count: 1_000 })).toEqual({ foreign: 0, repaired: 300, lost: [] });
    expect(await store.scan(place, { claimIdleMs: 60_000, count: 1_000 })).toEqual({ foreign: 0, repaired: 0, lost: [] });
    expect((await store.take(place, 'w2', 1_000)).messages).toHaveLength(300);
  });
});

describe('after a time in which nobody could beat', () => {
  it.each([
    ['an outage of ten leases', -60_000, { a: -55_000, b: -59_000, c: -54_500 }],
    ['an outage a little shorter than a lease', -5_500, { a: -1_000, b: -1, c: 500 }],
    ["a server's clock that went back by an hour", 3_600_000, { a: 3_601_000, b: 3_606_000, c: 3_599_000 }],
  ])('by %s, everybody has a lease to come back in', async (_what, lastBeatMs, leases) => {
    for (const worker of Object.keys(leases)) await beatAs(worker);
    await setBack(lastBeatMs, leases);
    expect(await beatAs('fresh', { leaseMs: 6_000 })).toMatchObject({ is: 'beaten', over: [] });
    expect(await opened.store.workers(place)).toEqual(['a', 'b', 'c', 'fresh']);
    for (const worker of Object.keys(leases)) {
      const [seconds = 0] = await opened.redis.time();
      const left = Number(await opened.redis.zscore(keys().leases, worker)) - seconds * 1_000;
      expect(left).toBeGreaterThan(4_500);
      expect(left).toBeLessThan(15_000);
    }
  });

  it('has shortened no lease that is longer than the caller’s', async () => {
    await beatAs('slow', { leaseMs: 600_000 });
    await setBack(-60_000, {});
    await beatAs('quick', { leaseMs: 1_000 });
    const [seconds = 0] = await opened.redis.time();
    expect(Number(await opened.redis.zscore(keys().leases, 'slow')) - seconds * 1_000).toBeGreaterThan(500_000);
  });

  it('the holder of a name is not taken over before it had its lease', async () => {
    await beatAs('w1');
    await setBack(-60_000, { w1: -55_000 });
    const answer = await beatAs('w1', { tag: 2, takeOver: true });
    expect(answer).toMatchObject({ is: 'taken' });
    expect(await opened.store.recover(place, 'w1', { count: 10, graveMs: 0 })).toMatchObject({ is: 'alive' });
    expect(await beatAs('w1')).toMatchObject({ is: 'beaten' });
  });

  it('one who missed a single beat is not extended', async () => {
    await beatAs('a');
    await setBack(-2_500, { a: -100 });
    expect(await beatAs('b')).toMatchObject({ over: ['a'] });
  });
});

describe('what people see', () => {
  it('is a heartbeat with its time to live, under the plain key, until the worker ends', async () => {
    const { store, redis } = opened;
    const key = `rillkit:workers:${place.stream}:billing:w1`;
    await store.heartbeat([{ ...place, worker: 'w1' }], 60_000);
    expect([59, 60]).toContain(await redis.ttl(key));
    await redis.pexpire(key, 1_000);
    await store.heartbeat([{ ...place, worker: 'w1' }], 60_000);
    expect([59, 60]).toContain(await redis.ttl(key));
    await store.heartbeat([{ ...place, worker: 'w1' }], 0);
    expect(await redis.exists(key)).toBe(0);
  });

  it('is a lag that is absent where the server does not know it', async () => {
    const { store, redis } = opened;
    await deliver(3);
    const id = await store.append(place.stream, fieldsOf({ body: 'x' }), { waitMs: 100 });
    await store.append(place.stream, fieldsOf({ body: 'y' }), { waitMs: 100 });
    expect((await store.stats(place)).undelivered).toBe(2);
    await redis.xdel(place.stream, id);
    expect((await store.stats(place)).undelivered).toBeNull();
  });
});
