import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isStoreFault, StoreError } from '../../lib/rillkit.errors.js';
import { compareIds } from '../../lib/store/entry-id.js';
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
  /** Another door to the same storage, as another process has it; closed with the first. */
  another(): Promise<StreamStore>;
  /** A stream's name that no other test has. */
  newStream(): Promise<string>;
  /** Drops entries from the stream, as trimming does. */
  deleteEntries(stream: string, ids: readonly string[]): Promise<void>;
  /** Makes the group vanish. */
  dropGroup(place: Place): Promise<void>;
  /** Sets a worker's lease end, relative to now; the grace does not see it. */
  endLease(place: Place, worker: string, inMs: number): Promise<void>;
  pause(place: Place): Promise<void>;
  /** Drops the row of a parked message. */
  dropRow(place: Place, id: string): Promise<void>;
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
    place = { stream: await under.newStream(), group: 'billing' };
    await store.ensureGroup(place, 'beginning');
  });

  /** Another stream's name, in the same slot of a cluster. */
  const beside = (name: string): string => `{${place.stream}}-${name}`;
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
      expect(await store.hasEntry(beside('none'), id)).toBe(false);
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

  describe('several connections', () => {
    it('append side by side, each entry once, in the order of their ids', async () => {
      const other = await under.another();
      const ids = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          (i % 2 ? store : other).append(place.stream, fieldsOf({ body: String(i) }), { waitMs: 5_000 }),
        ),
      );
      const read = await other.read(place, 'w1', 100);
      expect(new Set(ids).size).toBe(40);
      expect(read.map(({ id }) => id)).toEqual(ids.toSorted(compareIds));
    });

    it('are given each message once, new or due', async () => {
      const other = await under.another();
      await fill(40);
      const given = (
        await Promise.all([3, 5, 7, 11, 13, 40].map((count, i) => (i % 2 ? store : other).read(place, `w${i}`, count)))
      ).flat();
      expect(given.map(({ id }) => id).toSorted(compareIds)).toEqual([...new Set(given.map(({ id }) => id))].toSorted(compareIds));
      expect(given).toHaveLength(40);
      for (let i = 0; i < 6; i += 1) {
        const own = await store.pendingOf(place, `w${i}`, null, 100);
        await store.settle(
          place,
          `w${i}`,
          8,
          own.map(({ id, number }) => ({ id, number, op: 'retry', delayMs: 0 })),
        );
      }
      const taken = await Promise.all([3, 5, 7, 11, 13, 40].map((count, i) => (i % 2 ? store : other).take(place, `w${i}`, count)));
      const ids = taken.flatMap(({ messages }) => messages.map(({ id }) => id));
      expect(ids).toHaveLength(40);
      expect(new Set(ids).size).toBe(40);
    });

    it('settle and bury a delivery once, whoever asks first', async () => {
      const other = await under.another();
      for (const message of await deliver(10)) {
        const answers = await Promise.all([
          other.bury(place, 'w1', burial(message)),
          store.settle(place, 'w1', 8, [ack(message)]),
          other.settle(place, 'w1', 8, [retry(message)]),
          store.bury(place, 'w1', burial(message)),
        ]);
        expect(answers.flat().filter(({ is }) => is === 'ok')).toHaveLength(1);
        expect(answers.flat().filter(({ is }) => is === 'fenced')).toHaveLength(3);
      }
    });

    it('recover a dead worker once, and hear what the others nudge', async () => {
      const other = await under.another();
      await deliver(10);
      await die();
      const options = { count: 100, graveMs: 60_000 };
      const both = await Promise.all([store.recover(place, 'w1', options), other.recover(place, 'w1', options)]);
      expect(both.reduce((sum, { parked }) => sum + parked, 0)).toBe(10);
      const group = uniqueName('group');
      const heard: string[] = [];
      const stop = other.onNudge(group, (stream) => heard.push(stream));
      await expect.poll(() => store.nudge({ stream: 'orders', group }).then(() => heard.length)).toBeGreaterThan(0);
      stop();
    });
  });

  describe('a stream or a group that is not there', () => {
    it('is told of, or answered as empty', async () => {
      const missing = { stream: beside('none'), group: 'billing' };
      const fence = { id: '1-1', number: 1 };
      const noGroup = { fault: 'noGroup', applied: 'no' };
      const every = { claimIdleMs: 1, count: 1 };
      expect(await store.scan(missing, every)).toEqual({ foreign: 0, repaired: 0, lost: [] });
      await expect(store.scan({ ...place, group: 'nobody' }, every)).rejects.toMatchObject(noGroup);
      for (const nowhere of [missing, { ...place, group: 'nobody' }]) {
        await expect(store.read(nowhere, 'w1', 1)).rejects.toMatchObject(noGroup);
        await expect(store.pendingOf(nowhere, 'w1', null, 1)).rejects.toMatchObject(noGroup);
        await reading(async (reader) => {
          await expect(reader.read({ ...request([nowhere.stream]), group: nowhere.group })).rejects.toMatchObject(noGroup);
        });
        expect(await store.take(nowhere, 'w1', 10)).toEqual({ messages: [], lost: [], nextDueMs: null });
        expect(
          await store.settle(nowhere, 'w1', 8, [
            { ...fence, op: 'ack' },
            { ...fence, op: 'retry', delayMs: 0 },
          ]),
        ).toEqual([{ is: 'fenced' }, { is: 'fenced' }]);
        expect(await store.settle(nowhere, 'w1', 8, [])).toEqual([]);
        expect(await store.bury(nowhere, 'w1', burial({ ...fence, fields: fieldsOf({ body: '1' }) }))).toEqual({ is: 'fenced' });
        expect(await store.recover(nowhere, 'w1', { count: 1, graveMs: 0 })).toEqual({ is: 'alive', parked: 0, lost: [] });
        expect(await store.signOff(nowhere, 'w1', { count: 1, maxHandBacks: 8, sure: true })).toEqual({ is: 'done', parked: 0, lost: [] });
        expect(await store.locate(nowhere, '1-1')).toEqual({ is: 'gone' });
        expect(await store.workers(nowhere)).toEqual([]);
      }
      expect(await store.deadLetters(missing.stream, { after: null, count: 10 })).toEqual([]);
      expect(await store.deadLetter(missing.stream, '1-1')).toBeNull();
      expect(await store.countDeadLetters(missing.stream)).toBe(0);
      expect(await store.removeDeadLetters(missing.stream, ['1-1'])).toBe(0);
      expect(await store.replay(missing.stream, '1-1')).toEqual({ is: 'gone' });
      expect(await store.hasEntry(missing.stream, '1-1')).toBe(false);
    });

    it('is made with its group, where one is wanted', async () => {
      const made = { stream: beside('made'), group: 'billing' };
      expect(await store.ensureGroup(made, 'new')).toBe('created');
      expect(await store.read(made, 'w1', 1)).toEqual([]);
      const id = await append('1', made.stream);
      expect(await store.read(made, 'w1', 1)).toMatchObject([{ id }]);
    });

    it('refuses an id that is none', async () => {
      const refused = { code: 'RILLKIT_STORE', fault: 'refused', applied: 'no' };
      await append('1');
      await expect(store.hasEntry(place.stream, 'x')).rejects.toMatchObject(refused);
      await expect(store.ensureGroup({ ...place, group: 'odd' }, { after: '1-x' })).rejects.toMatchObject(refused);
      await expect(store.locate(place, '99999999999999999999-0')).rejects.toMatchObject(refused);
    });
  });

  describe('a blocking reader', () => {
    it('does not wait where there is something, and takes no more than asked', async () => {
      const ids = await fill(3);
      await reading(async (reader) => {
        const [read] = await reader.read({ ...request([place.stream], 20_000), count: 2 });
        expect(read?.messages.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      });
    });

    it('shares with others: each entry wakes one', async () => {
      const other = await under.another();
      const readers = [store.openReader('a'), other.openReader('b')];
      try {
        const reads = readers.map((reader, i) => reader.read({ ...request([place.stream], 20_000), worker: `w${i}` }));
        const got: string[] = [];
        for (const read of reads) void read.then((found) => got.push(...found.flatMap(({ messages }) => messages.map(({ id }) => id))));
        const earlier = await append('1');
        await expect.poll(() => got).toEqual([earlier]);
        const later = await append('2');
        await Promise.all(reads);
        expect(got).toEqual([earlier, later]);
      } finally {
        await Promise.all(readers.map((reader) => reader.close()));
      }
    });

    it('hears that its group has gone while it waits', async () => {
      await reading(async (reader) => {
        let ended: unknown = null;
        void reader.read(request([place.stream], 20_000)).catch((error: unknown) => (ended = error));
        // A read that arrives only after the group has gone is refused by the same fault.
        await expect
          .poll(async () => {
            await store.ensureGroup(place, 'new');
            await under.dropGroup(place);
            return ended;
          })
          .toMatchObject({ fault: 'noGroup' });
      });
    });

    it('fails what is under way when it is closed, and reads no more', async () => {
      const reader = store.openReader('closing');
      const read = reader.read(request([place.stream], 20_000));
      const failed = read.catch((error: unknown) => error);
      await reader.close();
      expect(await failed).toMatchObject({ fault: 'unavailable' });
      await expect(reader.read(request([place.stream]))).rejects.toMatchObject({ fault: 'unavailable', applied: 'no' });
    });

    it('waits for new messages on several streams', async () => {
      const other = { ...place, stream: beside('other') };
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
          let isOver = false;
          const over = (): boolean => (isOver = true);
          void read.then(over, over);
          expect(await reader.interrupt()).toBe('ended');
          expect(isOver).toBe(true);
          // Broken off before it was sent, it says so; it has read nothing either way.
          expect(await read.catch((error: unknown) => isStoreFault(error, 'interrupted'))).toSatisfy(
            (answer) => answer === true || (Array.isArray(answer) && answer.length === 0),
          );
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

    it('takes what is due at the same time in the order of the bytes of the ids, earlier ones first', async () => {
      const messages = await deliver(12);
      const [late, ...others] = messages;
      if (!late) throw new Error('twelve were sent');
      await store.settle(place, 'w1', 8, [...others.map((message) => retry(message)), retry(late, 5)]);
      await under.pass(10);
      const taken = (await store.take(place, 'w2', 100)).messages.map(({ id }) => id);
      expect(taken).toEqual([...others.map(({ id }) => id).toSorted(), late.id]);
    });

    it('tells a settlement that was sent again from a new one, whatever came in between', async () => {
      let message = await one();
      const sent: Settlement[] = [];
      for (let i = 0; i < 4; i += 1) {
        const settlement = i % 2 ? release(message) : retry(message);
        expect(await settleOne(settlement)).toBe('ok');
        sent.push(settlement);
        message = await takeOne('w1');
        for (const again of sent) expect(await settleOne(again)).toBe('fenced');
      }
      expect(await settleOne(ack(message))).toBe('ok');
      expect(await settleOne(ack(message))).toBe('fenced');
    });

    it('lets the number rise and nothing else, through every way that a message may go', async () => {
      const numbers: number[] = [];
      let message = await one();
      const next = async (): Promise<void> => {
        numbers.push(message.number);
        message = await takeOne('w1');
      };
      await settleOne(retry(message));
      await next();
      await settleOne(release(message));
      await next();
      await die();
      await store.recover(place, 'w1', { count: 10, graveMs: 60_000 });
      await next();
      await store.signOff(place, 'w1', { count: 10, maxHandBacks: 8, sure: true });
      await next();
      await under.pass(20);
      await store.scan(place, { claimIdleMs: 10, count: 10 });
      await next();
      expect([...numbers, message.number]).toEqual([1, 2, 1_002, 1_003, 2_003, 2_004]);
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

    it('go back in their order, and tell of themselves only once, whoever asks', async () => {
      const other = await under.another();
      for (const message of await deliver(3)) await store.bury(place, 'w1', burial(message));
      for (const { id } of await store.deadLetters(place.stream, { after: null, count: 10 })) {
        const both = await Promise.all([store.replay(place.stream, id), other.replay(place.stream, id)]);
        expect(both.map(({ is }) => is).toSorted()).toEqual(['gone', 'replayed']);
      }
      expect((await store.read(place, 'w1', 10)).map(({ fields }) => text(fields)['body'])).toEqual(['0', '1', '2']);
    });

    it('are a stream as any other: they can be read by a group of their own', async () => {
      // By a name with a tag, which is its key on a cluster too.
      place = { ...place, stream: `{${place.stream}}` };
      const letters = { stream: `${place.stream}-dlq`, group: 'undertaker' };
      await store.ensureGroup(place, 'beginning');
      await store.ensureGroup(letters, 'beginning');
      const message = await one();
      await reading(async (reader) => {
        const read = reader.read({ ...request([letters.stream]), group: letters.group });
        await store.bury(place, 'w1', burial(message));
        expect(await read).toMatchObject([{ stream: letters.stream, messages: [{ number: 1 }] }]);
      });
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
        { stream: beside('other'), group: 'g', worker: 'w2', tag: 2, leaseMs: 6_000, scanMs: 10_000, since: null, takeOver: false },
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
    it('adds the rows that parked messages have lost', async () => {
      const messages = await deliver(5);
      await beaten();
      await store.settle(
        place,
        'w1',
        8,
        messages.map((message) => retry(message, 60_000)),
      );
      for (const { id } of messages.slice(1, 4)) await under.dropRow(place, id);
      expect(await store.scan(place, { claimIdleMs: 60_000, count: 10 })).toEqual({ foreign: 0, repaired: 3, lost: [] });
      expect((await store.take(place, 'w2', 10)).messages.map(({ id }) => id)).toEqual(messages.slice(1, 4).map(({ id }) => id));
      expect(await store.scan(place, { claimIdleMs: 60_000, count: 10 })).toEqual({ foreign: 0, repaired: 0, lost: [] });
    });

    it('reports what was trimmed under a consumer that has no lease', async () => {
      const message = await one('by-hand');
      await under.deleteEntries(place.stream, [message.id]);
      await under.pass(20);
      expect(await store.scan(place, { claimIdleMs: 10, count: 10 })).toEqual({ foreign: 0, repaired: 0, lost: [message.id] });
    });

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
      expect(await store.stats({ stream: beside('none'), group: 'g' })).toEqual({
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

    it('say that nothing is known of what was not delivered, once something in the middle was deleted', async () => {
      const ids = await fill(6);
      await store.read(place, 'w1', 1);
      expect((await store.stats(place)).undelivered).toBe(5);
      await under.deleteEntries(place.stream, ids.slice(2, 4));
      expect((await store.stats(place)).undelivered).toBeNull();
      await store.read(place, 'w1', 10);
      expect((await store.stats(place)).undelivered).toBe(0);
    });

    it('find an entry wherever it is', async () => {
      const [acked, parked, running] = await deliver(3);
      if (!acked || !parked || !running) throw new Error('three were sent');
      const waiting = await append('4');
      await settleOne(ack(acked));
      const now = await under.now();
      await settleOne(retry(parked, 60_000));
      expect(await store.locate(place, acked.id)).toEqual({ is: 'settled' });
      expect(await store.locate(place, running.id)).toEqual({ is: 'running', worker: 'w1', number: 1 });
      expect(await store.locate(place, waiting)).toEqual({ is: 'waiting' });
      const located = await store.locate(place, parked.id);
      expect(located).toMatchObject({ is: 'parked', number: 1 });
      expect(located.is === 'parked' && located.dueAtMs - now).toBeGreaterThanOrEqual(60_000);
      expect(located.is === 'parked' && located.dueAtMs - now).toBeLessThan(65_000);
      expect(await store.locate({ ...place, group: 'nobody' }, acked.id)).toEqual({ is: 'waiting' });
      await under.deleteEntries(place.stream, [acked.id, running.id]);
      expect(await store.locate(place, acked.id)).toEqual({ is: 'gone' });
      expect(await store.locate(place, running.id)).toMatchObject({ is: 'running' });
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
