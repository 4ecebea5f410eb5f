import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { createBroker, type StandaloneBroker } from '../../lib/broker/create-broker.js';
import { DeadLetters } from '../../lib/broker/dead-letters.js';
import { deadLetterFields } from '../../lib/broker/dead-letter-fields.js';
import { messageIdOf, replayedFor } from '../../lib/broker/envelope.js';
import { bytes } from '../../lib/broker/codec-bytes.js';
import { Stream } from '../../lib/broker/stream.js';
import { systemClock } from '../../lib/clock.js';
import { RillkitEvents } from '../../lib/rillkit.events.js';
import { RedisStore } from '../../lib/store/redis/redis-store.js';
import type { Delivered, Place } from '../../lib/store/stream-store.js';
import { Proxy } from '../support/proxy.js';
import { uniqueName } from '../support/redis-server.js';

let redis: Redis;
let store: RedisStore;
let broker: StandaloneBroker;
let stream: Stream;

beforeAll(async () => {
  const connection = inject('redisUrl');
  redis = new Redis(connection);
  store = new RedisStore({ connection, clock: systemClock, events: new RillkitEvents(), blockMs: 1_000 });
  broker = createBroker({ connection, group: 'billing' });
  store.start();
  await store.ready(5_000);
});
afterAll(async () => {
  await Promise.all([store.close(), broker.close()]);
  redis.disconnect();
});
beforeEach(() => void (stream = new Stream(uniqueName())));

const place = (group = 'billing'): Place => ({ stream: stream.name, group });

/** Publishes a message and hands it to a worker of the group. */
async function delivered(body: unknown, group = 'billing'): Promise<Delivered> {
  await store.ensureGroup(place(group), 'beginning');
  await broker.publish(stream, body);
  const [message] = await store.read(place(group), 'w1', 1);
  if (!message) throw new Error('nothing was delivered');
  return message;
}

async function bury(message: Delivered, group = 'billing', error: unknown = new RangeError('no card')): Promise<void> {
  const why = deadLetterFields({ place: place(group), worker: 'w1', id: message.id, attempts: 4, deliveries: 5, reason: 'retries', error });
  const { id, number, fields: entry } = message;
  const buried = await store.bury(place(group), 'w1', { id, number, entry, why, refused: { delayMs: 0, attempt: 5 } });
  expect(buried).toEqual({ is: 'ok' });
}

/** What the group has not been given yet. */
const replayedOnes = async (): Promise<readonly Delivered[]> => store.read(place(), 'w1', 1_000);

const deadOnes = async (count: number, group = 'billing'): Promise<void> => {
  for (let n = 0; n < count; n += 1) await bury(await delivered({ n }, group), group);
};

type DeskStore = ConstructorParameters<typeof DeadLetters>[0];

/** The desk on the store, with something happening around its calls. */
const deskOn = (around: Partial<DeskStore>): DeadLetters =>
  new DeadLetters(
    {
      ready: (...args) => store.ready(...args),
      deadLetters: (...args) => store.deadLetters(...args),
      deadLetter: (...args) => store.deadLetter(...args),
      countDeadLetters: (...args) => store.countDeadLetters(...args),
      removeDeadLetters: (...args) => store.removeDeadLetters(...args),
      replay: (...args) => store.replay(...args),
      ...around,
    },
    stream,
    5_000,
  );

describe('whom a question is about', () => {
  it("is the group given, else the stream's, else the module's", async () => {
    const own = new Stream(stream.name, { group: 'audit' });
    for (const group of ['billing', 'audit', 'other']) {
      await store.beat([{ ...place(group), worker: `w-${group}`, tag: 1, leaseMs: 60_000, scanMs: 10_000, since: null, takeOver: false }]);
    }
    expect(await broker.activeWorkers(stream)).toEqual(['w-billing']);
    expect(await broker.activeWorkers(stream.name)).toEqual(['w-billing']);
    expect(await broker.activeWorkers(own)).toEqual(['w-audit']);
    expect(await broker.activeWorkers(own, { group: 'other' })).toEqual(['w-other']);
  });

  it('has to be said where nobody names a group', async () => {
    const nameless = createBroker({ connection: inject('redisUrl') });
    const refused = { code: 'RILLKIT_OPTION', message: expect.stringContaining('neither the stream') };
    await expect(nameless.activeWorkers(stream)).rejects.toMatchObject(refused);
    await expect(nameless.stats(stream.name)).rejects.toMatchObject(refused);
    await expect(nameless.inspect(stream, '5-0')).rejects.toMatchObject(refused);
    await nameless.close();
  });

  it('is checked', async () => {
    await expect(broker.activeWorkers(stream, { group: '~x' })).rejects.toMatchObject({ code: 'RILLKIT_OPTION', option: 'group' });
    await expect(Reflect.apply(broker.stats, broker, [stream, { grup: 'x' }])).rejects.toMatchObject({ option: 'stats.grup' });
    await expect(broker.activeWorkers('')).rejects.toMatchObject({ code: 'RILLKIT_NAME' });
  });
});

describe('stats', () => {
  it('count what is there, undelivered, pending, parked and given up', async () => {
    await bury(await delivered(1));
    const retried = await delivered(2);
    await store.settle(place(), 'w1', 8, [{ id: retried.id, number: 1, op: 'retry', delayMs: 60_000 }]);
    await delivered(3);
    await broker.publish(stream, 4);
    const stats = await broker.stats(stream);
    expect(stats).toEqual({ length: 4, undelivered: 1, pending: 2, oldestPendingAgeMs: expect.any(Number), parked: 1, deadLetters: 1 });
    expect(stats.oldestPendingAgeMs).toBeLessThan(30_000);
  });

  it('are 0 where there is no stream', async () => {
    const nothing = { length: 0, undelivered: 0, pending: 0, oldestPendingAgeMs: null, parked: 0, deadLetters: 0 };
    expect(await broker.stats(stream)).toEqual(nothing);
  });

  it('V3 are null, and not 0, for what this user may not ask', async () => {
    const message = await delivered(1);
    await redis.xdel(stream.name, message.id);
    const user = uniqueName();
    await redis.call('ACL', 'SETUSER', user, 'on', '>pass', '~*', '&*', '+@all', '-xinfo');
    const { host } = new URL(inject('redisUrl'));
    const limited = createBroker({ connection: `redis://${user}:pass@${host}`, group: 'billing' });
    expect(await limited.stats(stream)).toMatchObject({ length: 0, undelivered: null, pending: 1 });
    await limited.close();
    await redis.call('ACL', 'DELUSER', user);
  });
});

describe('inspecting a message', () => {
  it('finds it waiting, running, parked, settled, gone', async () => {
    const { id: waiting } = await broker.publish(stream, 0);
    expect(await broker.inspect(stream, waiting)).toEqual({ is: 'waiting' });
    await store.ensureGroup(place(), 'beginning');
    expect(await broker.inspect(stream, waiting)).toEqual({ is: 'waiting' });

    await store.read(place(), 'w1', 1);
    expect(await broker.inspect(stream, waiting)).toEqual({ is: 'running', worker: 'w1', attempt: 1, deliveries: 1 });
    expect(await broker.inspect(stream, waiting, { group: 'audit' })).toEqual({ is: 'waiting' });

    const begin = Date.now();
    await store.settle(place(), 'w1', 8, [{ id: waiting, number: 1, op: 'release', delayMs: 60_000 }]);
    const parked = await broker.inspect(stream, waiting);
    expect(parked).toEqual({ is: 'parked', until: expect.any(Date), attempt: 0, deliveries: 1 });
    expect(parked.is === 'parked' && parked.until.getTime() - begin).toBeGreaterThan(58_000);

    const acked = await delivered(1);
    await store.settle(place(), 'w1', 8, [{ id: acked.id, number: 1, op: 'ack' }]);
    expect(await broker.inspect(stream, acked.id)).toEqual({ is: 'settled' });
    await redis.xdel(stream.name, acked.id);
    expect(await broker.inspect(stream, acked.id)).toEqual({ is: 'gone' });
    expect(await broker.inspect(uniqueName(), '5-5')).toEqual({ is: 'gone' });
  });

  it('finds it dead, for the group that gave it up alone, and behind many others', async () => {
    await store.ensureGroup(place('audit'), 'beginning');
    const first = await delivered('first');
    await deadOnes(150);
    await bury(first);
    expect(await broker.inspect(stream, first.id)).toMatchObject({ is: 'dead', deadLetter: { entry: first.id, errorMessage: 'no card' } });
    expect(await broker.inspect(stream, first.id, { group: 'audit' })).toEqual({ is: 'waiting' });
    await broker.deadLetters(stream).purge();
    expect(await broker.inspect(stream, first.id)).toEqual({ is: 'settled' });
  });

  it('wants an entry id', async () => {
    await expect(broker.inspect(stream, 'm-1')).rejects.toMatchObject({ code: 'RILLKIT_OPTION', option: 'id' });
  });
});

describe('dead letters', () => {
  it('say what was given up, where, by whom and why', async () => {
    const message = await delivered({ id: 1 });
    await bury(message);
    const [letter, ...more] = await broker.deadLetters(stream).list();
    expect(more).toEqual([]);
    expect(letter).toMatchObject({
      stream: stream.name,
      entry: message.id,
      group: 'billing',
      worker: 'w1',
      attempts: 4,
      deliveries: 5,
      reason: 'retries',
      errorName: 'RangeError',
      errorMessage: 'no card',
      fields: message.fields,
    });
    expect(Math.abs((letter?.at.getTime() ?? 0) - Date.now())).toBeLessThan(30_000);
    expect(letter?.decode()).toEqual({ body: { id: 1 }, messageId: expect.stringMatching(/-7/) });
    expect(await broker.deadLetters(stream).get(letter?.id ?? '')).toEqual(letter);
    expect(await broker.deadLetters(stream).get('1-1')).toBeNull();
  });

  it('of another program say what they can', async () => {
    const id = await redis.xadd(`${stream.name}-dlq`, '*', 'body', 'not json', 'why', 'x');
    const [letter] = await broker.deadLetters(stream.name).list();
    expect(letter).toMatchObject({ id, stream: stream.name, entry: null, group: null, attempts: null, reason: null, errorName: null });
    expect(letter?.at.getTime()).toBe(Number(id?.split('-')[0]));
    expect(() => letter?.decode()).toThrow(expect.objectContaining({ code: 'RILLKIT_BODY' }));
  });

  it('come page by page, of one group where it is asked', async () => {
    await deadOnes(3, 'billing');
    await deadOnes(250, 'audit');
    const desk = broker.deadLetters(stream);
    expect(await desk.count()).toBe(253);
    expect(await desk.count({ group: 'billing' })).toBe(3);
    expect(await desk.count({ group: 'nobody' })).toBe(0);

    const seen: (string | null)[] = [];
    for (let after: string | undefined; ;) {
      const page = await desk.list({ group: 'audit', limit: 40, after });
      seen.push(...page.map(({ entry }) => entry));
      after = page.at(-1)?.id;
      if (page.length < 40) break;
    }
    expect(seen).toHaveLength(250);
    expect(new Set(seen).size).toBe(250);
    expect(await desk.list({ limit: 1_000 })).toHaveLength(253);
  });

  it('of one group are looked for a hundred at a time, however few are wanted', async () => {
    await store.ensureGroup(place('audit'), 'beginning');
    await deadOnes(150, 'billing');
    await deadOnes(1, 'audit');
    let questions = 0;
    const desk = deskOn({
      deadLetters: (...args) => {
        questions += 1;
        return store.deadLetters(...args);
      },
    });
    expect(await desk.list({ group: 'audit', limit: 1 })).toHaveLength(1);
    expect(questions).toBe(2);
  });

  it('can be removed and purged', async () => {
    await deadOnes(5);
    await store.ensureGroup(place('audit'), 'new');
    await deadOnes(2, 'audit');
    const desk = broker.deadLetters(stream);
    const ids = (await desk.list()).map(({ id }) => id);
    expect(await desk.remove(ids[0] ?? '')).toBe(1);
    expect(await desk.remove(ids.slice(0, 2))).toBe(1);
    expect(await desk.purge({ group: 'audit' })).toBe(2);
    expect(await desk.count()).toBe(3);
    expect(await desk.purge()).toBe(3);
    expect(await desk.list()).toEqual([]);
  });

  it.each([
    ['list', { limit: 0 }, 'deadLetters.list.limit'],
    ['list', { limit: 1_001 }, 'deadLetters.list.limit'],
    ['list', { after: 'x' }, 'deadLetters.list.after'],
    ['list', { groop: 'x' }, 'deadLetters.list.groop'],
    ['count', { group: '' }, 'group'],
    ['get', 'x', 'id'],
    ['remove', ['x'], 'ids'],
    ['remove', 5, 'ids'],
    ['purge', { all: true }, 'deadLetters.purge.all'],
    ['replay', { limit: 0 }, 'replay.limit'],
    ['replay', { limit: '5' }, 'replay.limit'],
    ['replay', { ids: '5-0' }, 'replay.ids'],
  ] as const)('V5 %s refuses %j', async (method, options, option) => {
    const desk = broker.deadLetters(stream);
    await expect(Reflect.apply(desk[method], desk, [options])).rejects.toMatchObject({ code: 'RILLKIT_OPTION', option });
  });
});

describe('a replay', () => {
  it('R7 puts the same fields back, under the same message id, for the group that failed', async () => {
    stream = new Stream(stream.name, { codec: bytes() });
    const message = await delivered(Buffer.from([0, 255, 10, 13]));
    await bury(message);
    const { replayed, gone } = await broker.replayDlq(stream);
    const [again] = await replayedOnes();
    expect(gone).toBe(0);
    expect(replayed).toEqual([{ deadLetter: expect.any(String), id: again?.id }]);
    expect(again?.fields.slice(0, message.fields.length)).toEqual(message.fields);
    expect(replayedFor(again?.fields ?? [])).toBe('billing');
    expect(await broker.deadLetters(stream).count()).toBe(0);
  });

  it("R7 keeps the entry's id as the message id where the publisher gave none, over two replays", async () => {
    await store.ensureGroup(place(), 'beginning');
    const first = await redis.xadd(stream.name, '*', 'body', '1');
    for (const round of [1, 2]) {
      const [message] = await replayedOnes();
      if (!message) throw new Error(`nothing in round ${round}`);
      expect(messageIdOf(stream.codec.decode(message.fields), message.fields, message.id)).toBe(first);
      await bury(message);
      expect((await broker.deadLetters(stream).list())[0]?.decode().messageId).toBe(first);
      await broker.replayDlq(stream);
    }
  });

  it('R7 two at once make no doubles', async () => {
    await deadOnes(60);
    const both = await Promise.all([broker.replayDlq(stream), broker.replayDlq(stream)]);
    expect(both.reduce((sum, { replayed }) => sum + replayed.length, 0)).toBe(60);
    const again = await replayedOnes();
    expect(again).toHaveLength(60);
    expect(new Set(again.map(({ fields }) => String(fields[0]?.[1]))).size).toBe(60);
  });

  it('R7 takes a limit, a group, and ids', async () => {
    await deadOnes(4);
    await store.ensureGroup(place('audit'), 'new');
    await deadOnes(3, 'audit');
    const desk = broker.deadLetters(stream);
    const all = await desk.list();
    expect((await desk.replay({ limit: 2 })).replayed.map(({ deadLetter }) => deadLetter)).toEqual(all.slice(0, 2).map(({ id }) => id));
    expect((await desk.replay({ group: 'audit', limit: 1 })).replayed).toEqual([{ deadLetter: all[4]?.id, id: expect.any(String) }]);
    const ids = [all[0]?.id ?? '', all[2]?.id ?? '', '1-1', all[5]?.id ?? ''];
    expect(await desk.replay({ ids, group: 'billing' })).toMatchObject({ replayed: [{ deadLetter: all[2]?.id }], gone: 2 });
    expect(await desk.replay({ ids })).toMatchObject({ replayed: [{ deadLetter: all[5]?.id }], gone: 3 });
    expect(await desk.replay({ ids: [] })).toEqual({ replayed: [], gone: 0 });
    expect((await desk.list()).map(({ id }) => id)).toEqual([all[3]?.id, all[6]?.id]);
  });

  it('R7 replays a hundred unless it is told otherwise', async () => {
    await deadOnes(130);
    expect((await broker.replayDlq(stream)).replayed).toHaveLength(100);
    expect((await broker.replayDlq(stream, { limit: 1_000 })).replayed).toHaveLength(30);
  });

  it('R7 replays each once, also when it fails again at once', async () => {
    await deadOnes(130);
    const desk = deskOn({
      replay: async (...args) => {
        const answer = await store.replay(...args);
        for (const message of await replayedOnes()) await bury(message);
        return answer;
      },
    });
    const { replayed } = await desk.replay({ limit: 1_000 });
    expect(replayed).toHaveLength(130);
    expect(await desk.count()).toBe(130);
  });

  it('R7 interrupted loses nothing, says how far it came, and can go on', async () => {
    await deadOnes(40);
    const network = await Proxy.to(Number(new URL(inject('redisUrl')).port));
    const shaky = createBroker({ connection: network.url });
    const [, , third] = await shaky.deadLetters(stream).list();
    const lost = network.loseReplyTo(third?.id ?? 'nothing');
    const failed = await shaky.replayDlq(stream).catch((error: unknown) => error);
    await lost;
    expect(failed).toMatchObject({
      code: 'RILLKIT_REPLAY',
      replayed: [expect.anything(), expect.anything()],
      cause: { applied: 'unknown' },
    });
    expect((await shaky.replayDlq(stream)).replayed).toHaveLength(37);
    const again = await replayedOnes();
    expect(again.map(({ fields }) => String(fields[0]?.[1]))).toEqual(Array.from({ length: 40 }, (_, n) => `{"n":${n}}`));
    await Promise.all([shaky.close(), network.close()]);
  });
});
