import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from '../../lib/rillkit.errors.js';
import type {
  BlockingReader,
  Beat,
  BeatRequest,
  Burial,
  Delivered,
  Fields,
  Place,
  Settlement,
  StreamStore,
} from '../../lib/store/stream-store.js';
import { uniqueName } from '../support/redis-server.js';

/** What a store must let its contract see and do beyond the port. */
export interface StoreUnderTest {
  readonly store: StreamStore;
  /** Drops entries from the stream, as trimming does. */
  deleteEntries(stream: string, ids: readonly string[]): Promise<void>;
  /** Makes the group vanish. */
  dropGroup(place: Place): Promise<void>;
  /** Sets a worker's lease end, relative to now; the grace does not see it. */
  endLease(place: Place, worker: string, inMs: number): Promise<void>;
  pause(place: Place): Promise<void>;
  /** Everything that is kept beside the stream: rows of leases and of parked messages, and the group's consumers. */
  left(place: Place): Promise<{ leases: string[]; parked: string[]; consumers: string[] }>;
  /** Lets time pass for the store, at least `ms`. */
  pass(ms: number): Promise<void>;
  /** The store's own time, milliseconds since 1970. */
  now(): Promise<number>;
  close(): Promise<void>;
}

export const text = (fields: Fields): Record<string, string> => Object.fromEntries(fields.map(([name, value]) => [name, value.toString()]));
export const fieldsOf = (record: Record<string, string>): Fields =>
  Object.entries(record).map(([name, value]) => [name, Buffer.from(value)] as const);

const ack = ({ id, number }: Delivered): Settlement => ({ id, number, op: 'ack' });
const retry = ({ id, number }: Delivered, delayMs = 0): Settlement => ({ id, number, op: 'retry', delayMs });
const release = ({ id, number }: Delivered, delayMs = 0): Settlement => ({ id, number, op: 'release', delayMs });

const first = <T>(list: readonly T[]): T => {
  const [value] = list;
  if (value === undefined) throw new Error('nothing there');
  return value;
};

/** One suite, every store: called inside a `describe` that names the store. */
export function holdsTheContract(open: () => Promise<StoreUnderTest>): void {
  let under: StoreUnderTest;
  let store: StreamStore;
  let place: Place;

  beforeAll(async () => {
    under = await open();
    store = under.store;
  });
  afterAll(async () => {
    await under.close();
  });
  beforeEach(async () => {
    place = { stream: uniqueName(), group: 'billing' };
    await store.ensureGroup(place, 'beginning');
  });

  const append = (body: string, stream = place.stream): Promise<string> =>
    store.append(stream, fieldsOf({ body, messageId: `m-${body}` }), { waitMs: 5_000 });
  const fill = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let i = 0; i < count; i += 1) ids.push(await append(String(i)));
    return ids;
  };
  const deliver = async (count: number, worker = 'w1'): Promise<readonly Delivered[]> => {
    await fill(count);
    return store.read(place, worker, count);
  };
  const one = async (worker = 'w1'): Promise<Delivered> => first(await deliver(1, worker));
  const settleOne = async (settlement: Settlement, worker = 'w1', maxHandBacks = 8) =>
    first(await store.settle(place, worker, maxHandBacks, [settlement])).is;
  const takeOne = async (worker = 'w2'): Promise<Delivered> => first((await store.take(place, worker, 10)).messages);
  const beatOf = async (request: Partial<BeatRequest> = {}): Promise<Beat> => {
    const [beat] = await store.beat([
      { ...place, worker: 'w1', tag: 1, leaseMs: 6_000, scanMs: 10_000, since: null, takeOver: false, ...request },
    ]);
    if (!beat || beat instanceof StoreError) throw beat ?? new Error('no answer');
    return beat;
  };
  const beaten = async (request: Partial<BeatRequest> = {}) => {
    const beat = await beatOf(request);
    if (beat.is !== 'beaten') throw new Error(`the beat was answered with ${beat.is}`);
    return beat;
  };
  /** What is left of the lease under whose name the second incarnation waits. */
  const takenFor = async (request: Partial<BeatRequest> = {}): Promise<number> => {
    const beat = await beatOf({ tag: 2, takeOver: true, ...request });
    if (beat.is !== 'taken') throw new Error(`the beat was answered with ${beat.is}`);
    return beat.leaseLeftMs;
  };
  const burial = ({ id, number, fields }: Delivered, more: Partial<Burial> = {}): Burial => ({
    id,
    number,
    entry: fields,
    why: [
      ['rillkit:entry', id],
      ['rillkit:group', place.group],
      ['rillkit:reason', 'retries'],
    ],
    refused: { delayMs: 0, attempt: 4 },
    ...more,
  });

  const reading = async (use: (reader: BlockingReader) => Promise<void>): Promise<void> => {
    const reader = store.openReader('test');
    try {
      await use(reader);
    } finally {
      await reader.close();
    }
  };
  const request = (streams: readonly string[], blockMs = 2_000) => ({
    group: place.group,
    worker: 'w1',
    streams,
    count: 10,
    blockMs,
  });
  const die = async (worker = 'w1'): Promise<void> => {
    await beaten({ worker });
    await under.endLease(place, worker, -100);
  };

  describe('appending and reading', () => {
    it('hands each entry out once, in order, as the first delivery, byte for byte', async () => {
      const bytes = Buffer.from([0, 0xff, 0xfe, 0x80, 13, 10]);
      const fields: Fields = [
        ['body', bytes],
        ['messageId', Buffer.from('m-1')],
        ['type', Buffer.from('created')],
        ['headers', Buffer.from('{}')],
        ['größe', Buffer.from('xl')],
      ];
      const id = await store.append(place.stream, fields, { waitMs: 1_000 });
      const second = await append('2');
      expect(await store.read(place, 'w1', 10)).toEqual([
        { id, number: 1, fields },
        { id: second, number: 1, fields: fieldsOf({ body: '2', messageId: 'm-2' }) },
      ]);
      expect(await store.read(place, 'w2', 10)).toEqual([]);
    });

    it('trims exactly, and approximately, where asked', async () => {
      for (let i = 0; i < 10; i += 1) {
        await store.append(place.stream, fieldsOf({ body: '1' }), { waitMs: 1_000, trim: { maxLen: 3, approximate: false } });
      }
      expect((await store.stats(place)).length).toBe(3);
      await store.append(place.stream, fieldsOf({ body: '1' }), { waitMs: 1_000, trim: { maxLen: 1, approximate: true } });
      expect((await store.stats(place)).length).toBe(4);
    });

    it('makes a group once, and never moves it', async () => {
      await fill(3);
      await store.read(place, 'w1', 2);
      expect(await store.ensureGroup(place, 'beginning')).toBe('existed');
      expect(await store.read(place, 'w1', 10)).toHaveLength(1);
    });

    it('begins a group at the beginning, at the end, or behind an entry', async () => {
      const ids = await fill(3);
      for (const [group, from, seen] of [
        ['all', 'beginning', ids],
        ['none', 'new', []],
        ['some', { after: ids[0] ?? '' }, ids.slice(1)],
      ] as const) {
        const other = { stream: place.stream, group };
        expect(await store.ensureGroup(other, from)).toBe('created');
        expect((await store.read(other, 'w', 10)).map(({ id }) => id)).toEqual(seen);
      }
    });

    it('knows which entries are there', async () => {
      const id = await append('1');
      expect(await store.hasEntry(place.stream, id)).toBe(true);
      expect(await store.hasEntry(place.stream, '1-1')).toBe(false);
      expect(await store.hasEntry(uniqueName(), id)).toBe(false);
    });

    it('says that a group is gone', async () => {
      await under.dropGroup(place);
      await expect(store.read(place, 'w1', 1)).rejects.toMatchObject({ code: 'RILLKIT_STORE', fault: 'noGroup', applied: 'no' });
    });

    it('lists what is pending for a worker, page by page', async () => {
      const ids = (await deliver(5)).map(({ id }) => id);
      await store.read(place, 'w2', 5);
      const page = await store.pendingOf(place, 'w1', null, 3);
      expect(page).toEqual(ids.slice(0, 3).map((id) => ({ id, number: 1 })));
      expect((await store.pendingOf(place, 'w1', ids[2] ?? '', 3)).map(({ id }) => id)).toEqual(ids.slice(3));
      expect(await store.pendingOf(place, 'w2', null, 3)).toEqual([]);
    });
  });

  describe('a blocking reader', () => {
    it('waits for new messages on several streams', async () => {
      const other = { ...place, stream: uniqueName() };
      await store.ensureGroup(other, 'beginning');
      await reading(async (reader) => {
        const read = reader.read(request([place.stream, other.stream]));
        const id = await append('1', other.stream);
        expect(await read).toMatchObject([{ stream: other.stream, messages: [{ id, number: 1 }] }]);
      });
    });

    it('answers nothing when the wait was in vain', async () => {
      await reading(async (reader) => {
        const read = reader.read(request([place.stream], 100));
        await under.pass(100);
        expect(await read).toEqual([]);
      });
    });

    it('is broken off at once, and can read again', async () => {
      await reading(async (reader) => {
        for (let round = 0; round < 20; round += 1) {
          const read = reader.read(request([place.stream], 20_000));
          expect(await reader.interrupt()).toBe('ended');
          expect(await read).toEqual([]);
        }
        const read = reader.read(request([place.stream]));
        const id = await append('1');
        expect(await read).toMatchObject([{ messages: [{ id }] }]);
        expect(await reader.interrupt()).toBe('ended');
      });
    });

    it('takes one read at a time, and says which fault ended one', async () => {
      await reading(async (reader) => {
        const read = reader.read(request([place.stream], 300));
        await expect(reader.read(request([place.stream]))).rejects.toMatchObject({ fault: 'refused' });
        await under.pass(300);
        await read;
        await under.dropGroup(place);
        await expect(reader.read(request([place.stream]))).rejects.toMatchObject({ fault: 'noGroup' });
      });
    });
  });

  describe('settling', () => {
    it('acks first deliveries together, in whatever order they come', async () => {
      const messages = [...(await deliver(50))];
      const answers = await store.settle(place, 'w1', 8, messages.toReversed().map(ack));
      expect(answers).toEqual(messages.map(() => ({ is: 'ok' })));
      expect(await store.pendingOf(place, 'w1', null, 100)).toEqual([]);
    });

    it('acks every third of what is running, and leaves the others', async () => {
      const messages = await deliver(60);
      const chosen = messages.filter((_, i) => i % 3 === 0);
      expect(await store.settle(place, 'w1', 8, chosen.map(ack))).toEqual(chosen.map(() => ({ is: 'ok' })));
      expect((await store.pendingOf(place, 'w1', null, 100)).map(({ id }) => id)).toEqual(
        messages.filter((_, i) => i % 3 !== 0).map(({ id }) => id),
      );
    });

    it('acks the first and the last of a thousand', async () => {
      const messages = await deliver(1_000);
      const ends = [messages[999], messages[0]].filter((message) => message !== undefined);
      expect(await store.settle(place, 'w1', 8, ends.map(ack))).toEqual([{ is: 'ok' }, { is: 'ok' }]);
      expect(await store.pendingOf(place, 'w1', null, 1_000)).toHaveLength(998);
    });

    it('answers each for itself, in the order asked', async () => {
      const [a, b, c, d] = await deliver(4);
      if (!a || !b || !c || !d) throw new Error('four were sent');
      await store.settle(place, 'w1', 8, [ack(a)]);
      await under.deleteEntries(place.stream, [c.id]);
      const answers = await store.settle(place, 'w1', 8, [
        retry(c),
        ack(d),
        { ...ack(b), number: 7 },
        ack(a),
        release(b),
        { ...retry(a), id: '1-1' },
      ]);
      expect(answers.map(({ is }) => is)).toEqual(['lost', 'ok', 'fenced', 'fenced', 'ok', 'fenced']);
    });

    it('takes the same settlement twice in one call once', async () => {
      const [a, b] = await deliver(2);
      if (!a || !b) throw new Error('two were sent');
      const answers = await store.settle(place, 'w1', 8, [ack(a), ack(a), retry(b, 60_000), retry(b, 0)]);
      expect(answers.map(({ is }) => is)).toEqual(['ok', 'fenced', 'ok', 'fenced']);
      expect(await store.take(place, 'w2', 10)).toMatchObject({ messages: [] });
    });

    it('changes nothing for another worker, another number, or a group that is gone', async () => {
      const message = await one();
      const before = await under.left(place);
      for (const settlement of [ack(message), retry(message), release(message)]) {
        expect(await settleOne(settlement, 'w2')).toBe('fenced');
        expect(await settleOne({ ...settlement, number: 2 })).toBe('fenced');
      }
      expect(await under.left(place)).toEqual(before);
      expect(await store.pendingOf(place, 'w1', null, 10)).toEqual([{ id: message.id, number: 1 }]);
      await under.dropGroup(place);
      for (const settlement of [ack(message), retry(message), release(message)]) expect(await settleOne(settlement)).toBe('fenced');
    });

    it('parks a retry until it is due, its attempt spent', async () => {
      const message = await one();
      expect(await settleOne(retry(message, 60_000))).toBe('ok');
      const taken = await store.take(place, 'w2', 10);
      expect(taken.messages).toEqual([]);
      expect(taken.nextDueMs).toBeGreaterThan(55_000);
      expect(taken.nextDueMs).toBeLessThanOrEqual(60_000);
    });

    it('lets each retry be taken once, with the next number and the same fields', async () => {
      const message = await one();
      await settleOne(retry(message));
      expect(await store.take(place, 'w2', 10)).toEqual({ messages: [{ ...message, number: 2 }], lost: [], nextDueMs: null });
      expect((await store.take(place, 'w3', 10)).messages).toEqual([]);
      expect(await settleOne(ack(message))).toBe('fenced');
      expect(await settleOne({ ...ack(message), number: 2 }, 'w2')).toBe('ok');
    });

    it('takes no attempt for a hand-back, yet the number rises; from the most hand-backs on, one is spent', async () => {
      let message = await one();
      const numbers = [message.number];
      for (let i = 0; i < 4; i += 1) {
        expect(await settleOne(release(message), i === 0 ? 'w1' : 'w2', 2)).toBe('ok');
        message = await takeOne('w2');
        numbers.push(message.number);
      }
      expect(numbers).toEqual([1, 1_001, 2_001, 2_002, 2_003]);
    });

    it('takes no more than asked, and tells when the next is due', async () => {
      const messages = await deliver(5);
      await store.settle(
        place,
        'w1',
        8,
        messages.map((message) => retry(message)),
      );
      const taken = await store.take(place, 'w2', 3);
      expect(taken.messages).toHaveLength(3);
      expect(taken.nextDueMs).toBe(0);
    });

    it('reports parked messages that were trimmed, once', async () => {
      const message = await one();
      await settleOne(retry(message));
      await under.deleteEntries(place.stream, [message.id]);
      expect(await store.take(place, 'w2', 10)).toEqual({ messages: [], lost: [message.id], nextDueMs: null });
      expect(await store.take(place, 'w2', 10)).toEqual({ messages: [], lost: [], nextDueMs: null });
      expect((await store.stats(place)).pending).toBe(0);
    });

    it('drops rows of a group that was made anew, and steals nothing', async () => {
      const message = await one();
      await settleOne(retry(message));
      await under.dropGroup(place);
      await store.ensureGroup(place, 'beginning');
      const again = first(await store.read(place, 'w2', 10));
      expect(again.id).toBe(message.id);
      expect(await store.take(place, 'w3', 10)).toEqual({ messages: [], lost: [], nextDueMs: null });
      expect(await store.pendingOf(place, 'w2', null, 10)).toHaveLength(1);
    });
  });

  describe('dead letters', () => {
    it('keeps the fields as they were, tells why, and acks', async () => {
      const bytes = Buffer.from([0xff, 0, 0x80]);
      await store.append(place.stream, [['body', bytes]], { waitMs: 1_000 });
      const message = first(await store.read(place, 'w1', 1));
      const before = await under.now();
      expect(await store.bury(place, 'w1', burial(message))).toEqual({ is: 'ok' });
      const letter = first(await store.deadLetters(place.stream, { after: null, count: 10 }));
      expect(letter.fields[0]).toEqual(['body', bytes]);
      const { 'rillkit:at': at, ...rest } = text(letter.fields.slice(1));
      expect(rest).toEqual({ 'rillkit:entry': message.id, 'rillkit:group': place.group, 'rillkit:reason': 'retries' });
      expect(Number(at)).toBeGreaterThanOrEqual(before);
      expect(Number(at) - before).toBeLessThan(5_000);
      expect(await store.deadLetter(place.stream, letter.id)).toEqual(letter);
      expect(await store.countDeadLetters(place.stream)).toBe(1);
      expect((await store.stats(place)).pending).toBe(0);
    });

    it('is written once, however often it is asked for', async () => {
      const message = await one();
      await store.bury(place, 'w1', burial(message));
      expect(await store.bury(place, 'w1', burial(message))).toEqual({ is: 'fenced' });
      expect(await store.bury(place, 'w2', burial(message))).toEqual({ is: 'fenced' });
      expect(await store.countDeadLetters(place.stream)).toBe(1);
    });

    it("takes the caller's copy of an entry that was trimmed, and reports what nobody has", async () => {
      const [kept, gone] = await deliver(2);
      if (!kept || !gone) throw new Error('two were sent');
      await under.deleteEntries(place.stream, [kept.id, gone.id]);
      expect(await store.bury(place, 'w1', burial(kept))).toEqual({ is: 'ok' });
      expect(await store.bury(place, 'w1', burial(gone, { entry: [] }))).toEqual({ is: 'lost' });
      const letters = await store.deadLetters(place.stream, { after: null, count: 10 });
      expect(letters.map(({ fields }) => text(fields)['body'])).toEqual(['0']);
      expect((await store.stats(place)).pending).toBe(0);
    });

    it('are capped by number and by age, where asked', async () => {
      for (const message of await deliver(5)) {
        await store.bury(place, 'w1', burial(message, { trim: { maxLen: 3, approximate: false } }));
      }
      expect(await store.countDeadLetters(place.stream)).toBe(3);
      await under.pass(100);
      await store.bury(place, 'w1', burial(await one(), { maxAgeMs: 60_000 }));
      expect(await store.countDeadLetters(place.stream)).toBe(4);
      await store.bury(place, 'w1', burial(await one(), { maxAgeMs: 50 }));
      expect(await store.countDeadLetters(place.stream)).toBe(2);
    });

    it('are listed page by page, and removed', async () => {
      for (const message of await deliver(3)) await store.bury(place, 'w1', burial(message));
      const page = await store.deadLetters(place.stream, { after: null, count: 2 });
      const rest = await store.deadLetters(place.stream, { after: page[1]?.id ?? '', count: 2 });
      expect([...page, ...rest].map(({ fields }) => text(fields)['body'])).toEqual(['0', '1', '2']);
      expect(
        await store.removeDeadLetters(
          place.stream,
          page.map(({ id }) => id),
        ),
      ).toBe(2);
      expect(await store.removeDeadLetters(place.stream, [])).toBe(0);
      expect(await store.countDeadLetters(place.stream)).toBe(1);
      expect(await store.deadLetter(place.stream, '1-1')).toBeNull();
    });

    it('go back as they were, for the group that failed, once', async () => {
      const message = await one();
      await store.bury(place, 'w1', burial(message));
      const letter = first(await store.deadLetters(place.stream, { after: null, count: 1 }));
      const replays = await Promise.all([store.replay(place.stream, letter.id), store.replay(place.stream, letter.id)]);
      expect(replays.map(({ is }) => is)).toEqual(['replayed', 'gone']);
      expect(await store.countDeadLetters(place.stream)).toBe(0);
      const again = first(await store.read(place, 'w1', 10));
      expect(text(again.fields)).toEqual({ body: '0', messageId: 'm-0', 'rillkit:for': 'billing' });
    });

    it('keep the first id as their name over several replays, where the publisher gave none', async () => {
      const id = await store.append(place.stream, fieldsOf({ body: '1' }), { waitMs: 1_000 });
      for (let round = 0; round < 3; round += 1) {
        const message = first(await store.read(place, 'w1', 10));
        const replayed = { 'rillkit:for': 'billing', 'rillkit:messageId': id };
        expect(text(message.fields)).toEqual({ body: '1', ...(round > 0 ? replayed : {}) });
        await store.bury(place, 'w1', burial(message));
        const letter = first(await store.deadLetters(place.stream, { after: null, count: 1 }));
        expect(await store.replay(place.stream, letter.id)).toMatchObject({ is: 'replayed' });
      }
    });
  });

  describe('beating', () => {
    it('tells a worker what its own lease said before', async () => {
      expect((await beaten()).before).toBe('none');
      expect((await beaten()).before).toBe('live');
      await under.endLease(place, 'w1', -1_000);
      expect((await beaten()).before).toBe('over');
      expect(await store.workers(place)).toEqual(['w1']);
    });

    it('answers each request for itself', async () => {
      const answers = await store.beat([
        { ...place, worker: 'w1', tag: 1, leaseMs: 6_000, scanMs: 10_000, since: null, takeOver: false },
        { stream: uniqueName(), group: 'g', worker: 'w2', tag: 2, leaseMs: 6_000, scanMs: 10_000, since: null, takeOver: false },
      ]);
      expect(answers).toMatchObject([{ is: 'beaten' }, { is: 'beaten' }]);
    });

    it('names those whose lease is over, never the caller, until they are buried', async () => {
      await beaten();
      await beaten({ worker: 'w2', tag: 2 });
      await beaten({ worker: 'w3', tag: 3 });
      await under.endLease(place, 'w1', -100);
      await under.endLease(place, 'w2', -100);
      expect((await beaten({ worker: 'w3', tag: 3 })).over.toSorted()).toEqual(['w1', 'w2']);
      expect((await beaten({ worker: 'w2', tag: 2 })).over).toEqual(['w1']);
      expect(await store.workers(place)).toEqual(['w2', 'w3']);
    });

    it('names all of a mass death since the last beat, and the oldest dozen at least', async () => {
      const { atMs } = await beaten();
      for (let i = 0; i < 30; i += 1) {
        await beaten({ worker: `d${i}`, tag: i + 2 });
        await under.endLease(place, `d${i}`, -50);
      }
      expect((await beaten({ since: atMs - 60_000 })).over).toHaveLength(30);
      expect((await beaten({ since: atMs + 60_000 })).over.length).toBeGreaterThanOrEqual(10);
    });

    it('elects one worker a period to scan', async () => {
      const scans = [];
      for (let i = 0; i < 5; i += 1) scans.push((await beaten({ worker: `w${i}`, tag: i + 1 })).scan);
      expect(scans).toEqual([true, false, false, false, false]);
    });

    it('tells when the first parked message is due', async () => {
      expect((await beaten()).firstDueMs).toBeNull();
      const message = await one();
      await settleOne(retry(message, 30_000));
      const { firstDueMs } = await beaten();
      expect(firstDueMs).toBeGreaterThan(25_000);
      expect(firstDueMs).toBeLessThanOrEqual(30_000);
    });

    it('tells that the group is paused', async () => {
      expect((await beaten()).paused).toBe(false);
      await under.pause(place);
      expect((await beaten()).paused).toBe(true);
    });

    it('keeps a name for the incarnation that holds it', async () => {
      await beaten();
      expect(await takenFor()).toBeGreaterThan(5_000);
      await under.endLease(place, 'w1', -10);
      expect(await takenFor({ takeOver: false })).toBeLessThanOrEqual(0);
      expect(await beatOf({ tag: 2, takeOver: true })).toMatchObject({ is: 'beaten' });
      expect(await beatOf({ tag: 1, takeOver: true })).toMatchObject({ is: 'taken' });
    });
  });

  describe('recovering', () => {
    it('leaves the living alone', async () => {
      await beaten();
      await one();
      expect(await store.recover(place, 'w1', { count: 10, graveMs: 0 })).toEqual({ is: 'alive', parked: 0, lost: [] });
      expect(await store.recover(place, 'nobody', { count: 10, graveMs: 0 })).toMatchObject({ is: 'alive' });
      expect(await store.pendingOf(place, 'w1', null, 10)).toHaveLength(1);
    });

    it('parks what the dead held, bounded a call, an attempt spent, and buries it after its grave time', async () => {
      const messages = await deliver(5);
      await die();
      expect(await store.recover(place, 'w1', { count: 2, graveMs: 60_000 })).toMatchObject({ is: 'more', parked: 2 });
      expect(await store.recover(place, 'w1', { count: 2, graveMs: 60_000 })).toMatchObject({ is: 'more', parked: 2 });
      expect(await store.recover(place, 'w1', { count: 2, graveMs: 60_000 })).toMatchObject({ is: 'parked', parked: 1 });
      expect(await under.left(place)).toMatchObject({ leases: expect.arrayContaining(['w1', '~@w1']), consumers: ['w1', '~parked'] });
      expect(await store.recover(place, 'w1', { count: 2, graveMs: 0 })).toMatchObject({ is: 'buried', parked: 0 });
      const left = await under.left(place);
      expect(left.consumers).toEqual(['~parked']);
      expect(left.leases).not.toContain('w1');
      expect(left.leases).not.toContain('~@w1');
      const taken = (await store.take(place, 'w2', 10)).messages;
      expect(taken.map(({ id, number }) => [id, number])).toEqual(messages.map(({ id }) => [id, 2]));
    });

    it('fences what the dead settles later', async () => {
      const message = await one();
      await die();
      await store.recover(place, 'w1', { count: 10, graveMs: 60_000 });
      for (const settlement of [ack(message), retry(message), release(message)]) expect(await settleOne(settlement)).toBe('fenced');
      await takeOne();
      for (const settlement of [ack(message), retry(message), release(message)]) expect(await settleOne(settlement)).toBe('fenced');
    });

    it('reports what was trimmed, and lets go of a group that is gone', async () => {
      const message = await one();
      await under.deleteEntries(place.stream, [message.id]);
      await die();
      expect(await store.recover(place, 'w1', { count: 10, graveMs: 60_000 })).toEqual({ is: 'parked', parked: 0, lost: [message.id] });
      await under.dropGroup(place);
      expect(await store.recover(place, 'w1', { count: 10, graveMs: 60_000 })).toMatchObject({ is: 'buried' });
      expect((await under.left(place)).leases).not.toContain('w1');
    });
  });

  describe('signing off', () => {
    it('hands back what is left, bounded a call, and leaves nothing of the worker', async () => {
      await beaten();
      const messages = await deliver(5);
      const options = { count: 3, maxHandBacks: 8, sure: true };
      expect(await store.signOff(place, 'w1', options)).toMatchObject({ is: 'more', parked: 3 });
      expect(await store.signOff(place, 'w1', options)).toMatchObject({ is: 'done', parked: 2 });
      const left = await under.left(place);
      expect(left.leases.toSorted()).toEqual(['~beat', '~scan']);
      expect(left.consumers).toEqual(['~parked']);
      const taken = (await store.take(place, 'w2', 10)).messages;
      expect(taken.map(({ id, number }) => [id, number])).toEqual(messages.map(({ id }) => [id, 1_001]));
    });

    it('leaves the burial to others where a read may still be served', async () => {
      await beaten();
      await one();
      expect(await store.signOff(place, 'w1', { count: 10, maxHandBacks: 8, sure: false })).toMatchObject({ is: 'left', parked: 1 });
      expect(await store.workers(place)).toEqual([]);
      expect((await beaten({ worker: 'w2', tag: 2 })).over).toEqual(['w1']);
      expect(await store.recover(place, 'w1', { count: 10, graveMs: 0 })).toMatchObject({ is: 'buried' });
    });

    it('does nothing where another incarnation holds the name', async () => {
      await beaten();
      await one();
      const options = { count: 10, maxHandBacks: 8, sure: true };
      expect(await store.signOff(place, 'w1', { ...options, tag: 2 })).toEqual({ is: 'left', parked: 0, lost: [] });
      expect(await store.pendingOf(place, 'w1', null, 10)).toHaveLength(1);
      expect(await store.signOff(place, 'w1', { ...options, tag: 1 })).toMatchObject({ is: 'done', parked: 1 });
    });

    it('ends where the group is gone', async () => {
      await beaten();
      await under.dropGroup(place);
      expect(await store.signOff(place, 'w1', { count: 10, maxHandBacks: 8, sure: true })).toMatchObject({ is: 'done' });
      expect((await under.left(place)).leases.toSorted()).toEqual(['~beat', '~scan']);
    });
  });

  describe('scanning', () => {
    it('takes what idles with a consumer that has no lease, not before, and never what a lease watches over', async () => {
      const foreign = await one('by-hand');
      await beaten();
      await one('w1');
      expect(await store.scan(place, { claimIdleMs: 60_000, count: 10 })).toEqual({ foreign: 0, repaired: 0, lost: [] });
      await under.pass(50);
      expect(await store.scan(place, { claimIdleMs: 50, count: 10 })).toEqual({ foreign: 1, repaired: 0, lost: [] });
      expect(await takeOne()).toMatchObject({ id: foreign.id, number: 2 });
      expect(await store.pendingOf(place, 'w1', null, 10)).toHaveLength(1);
    });
  });

  describe('questions', () => {
    it('are answered with figures, or not at all', async () => {
      expect(await store.stats({ stream: uniqueName(), group: 'g' })).toEqual({
        length: 0,
        undelivered: 0,
        pending: 0,
        oldestPendingAgeMs: null,
        parked: 0,
        deadLetters: 0,
      });
      const [a, b] = await deliver(2);
      if (!a || !b) throw new Error('two were sent');
      await fill(3);
      await settleOne(retry(a, 60_000));
      await beaten();
      const stats = await store.stats(place);
      expect(stats).toMatchObject({ length: 5, undelivered: 3, pending: 2, parked: 1, deadLetters: 0 });
      expect(stats.oldestPendingAgeMs).toBeGreaterThanOrEqual(0);
      await under.dropGroup(place);
      expect(await store.stats(place)).toMatchObject({ length: 5, undelivered: null, pending: null, oldestPendingAgeMs: null });
    });

    it('name the living, sorted', async () => {
      for (const worker of ['c', 'a', 'b']) await beaten({ worker, tag: worker.charCodeAt(0) });
      expect(await store.workers(place)).toEqual(['a', 'b', 'c']);
      expect(await store.workers({ ...place, group: 'nobody' })).toEqual([]);
    });
  });

  describe('nudges', () => {
    it('reach who listens to the group, until it stops', async () => {
      const group = uniqueName('group');
      const heard: string[] = [];
      const stop = store.onNudge(group, (stream) => heard.push(stream));
      await expect
        .poll(async () => {
          await store.nudge({ stream: 'orders', group });
          await store.nudge({ stream: 'orders', group: 'another' });
          return heard.length;
        })
        .toBeGreaterThan(0);
      expect(new Set(heard)).toEqual(new Set(['orders']));
      stop();
      stop();
    });
  });
}
