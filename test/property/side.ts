import type { Clock } from '../../lib/clock.js';
import { RillkitEvents } from '../../lib/rillkit.events.js';
import { MemoryStore } from '../../lib/store/memory/memory-store.js';
import { entriesOf, listOf, numberOf, scoresOf, textOf } from '../../lib/store/redis/replies.js';
import type { Place, StreamStore } from '../../lib/store/stream-store.js';
import { ManualClock } from '../support/manual-clock.js';
import type { OpenedStore } from '../support/redis-store.js';

/** Everything that is kept of one group. */
export interface Kept {
  readonly leases: readonly (readonly [string, number])[];
  readonly parked: readonly (readonly [string, number])[];
  readonly pending: readonly (readonly [id: string, consumer: string, number: number])[];
  readonly entries: readonly string[];
  readonly deadLetters: readonly string[];
}

/** One of two stores, and what others do to its keys behind its back. */
export interface Side {
  readonly store: StreamStore;
  deleteEntries(stream: string, ids: readonly string[]): Promise<void>;
  dropGroup(place: Place): Promise<void>;
  dropStream(stream: string): Promise<void>;
  setLease(place: Place, row: string, atMs: number): Promise<void>;
  addRow(place: Place, id: string, atMs: number): Promise<void>;
  dropRow(place: Place, id: string): Promise<void>;
  /** `XCLAIM … JUSTID` by somebody; where there is no group, nothing. */
  claim(place: Place, id: string, worker: string): Promise<void>;
  kept(place: Place): Promise<Kept>;
}

const none = (): unknown[] => [];

export function redisSide({ store, redis }: Pick<OpenedStore, 'store' | 'redis'>): Side {
  const { keys } = store;
  return {
    store,
    deleteEntries: async (stream, ids) => void (await redis.xdel(keys.stream(stream), ...ids)),
    dropGroup: async ({ stream, group }) => void (await redis.xgroup('DESTROY', keys.stream(stream), group).catch(none)),
    dropStream: async (stream) => void (await redis.del(keys.stream(stream))),
    setLease: async (place, row, atMs) => void (await redis.zadd(keys.leases(place), atMs, row)),
    addRow: async (place, id, atMs) => void (await redis.zadd(keys.parked(place), atMs, id)),
    dropRow: async (place, id) => void (await redis.zrem(keys.parked(place), id)),
    claim: async ({ stream, group }, id, worker) =>
      void (await redis.call('XCLAIM', keys.stream(stream), group, worker, '0', id, 'JUSTID').catch(none)),
    async kept(place) {
      const stream = keys.stream(place.stream);
      const [leases, parked, pending, entries, deadLetters] = await Promise.all([
        redis.callBuffer('ZRANGE', keys.leases(place), '0', '-1', 'WITHSCORES'),
        redis.callBuffer('ZRANGE', keys.parked(place), '0', '-1', 'WITHSCORES'),
        redis.callBuffer('XPENDING', stream, place.group, '-', '+', '1000').catch(none),
        redis.callBuffer('XRANGE', stream, '-', '+'),
        redis.callBuffer('XRANGE', keys.deadLetters(place.stream), '-', '+'),
      ]);
      return {
        leases: scoresOf(leases).map(({ member, score }) => [member, score]),
        parked: scoresOf(parked).map(({ member, score }) => [member, score]),
        pending: listOf(pending).map((one) => {
          const [id, consumer, , number] = listOf(one);
          return [textOf(id), textOf(consumer), numberOf(number)];
        }),
        entries: entriesOf(entries).map(({ id }) => id),
        deadLetters: entriesOf(deadLetters).map(({ id }) => id),
      };
    },
  };
}

export interface MemorySide extends Side {
  /** Sets the store's time, milliseconds since 1970. */
  setTime(nowMs: number): void;
}

export function memorySide(): MemorySide {
  const manual = new ManualClock();
  const clock: Clock = manual;
  const memory = new MemoryStore();
  const store = memory.open({ clock, events: new RillkitEvents() });
  store.start();
  const { data } = memory.server;
  const parked = (place: Place) => data.parked(place);
  return {
    store,
    setTime: (nowMs) => manual.jumpWall(nowMs - manual.wallMs()),
    deleteEntries: async (stream, ids) => void data.stream(stream)?.delete(ids),
    dropGroup: async (place) => data.destroyGroup(place),
    dropStream: async (stream) => data.delete(stream),
    setLease: async (place, row, atMs) => data.leases(place).set(row, atMs),
    addRow: async (place, id, atMs) => parked(place).set(id, atMs),
    dropRow: async (place, id) => parked(place).remove(id),
    async claim(place, id, worker) {
      const stream = data.streamOf(place);
      const group = stream?.groups.get(place.group);
      const pending = group?.pending.get(id);
      if (!stream?.get(id)) group?.remove(id);
      else if (pending) group?.claim(pending, worker, clock.wallMs());
    },
    async kept(place) {
      const stream = data.streamOf(place);
      const group = stream?.groups.get(place.group);
      return {
        leases: data
          .leases(place)
          .all()
          .map(({ name, score }) => [name, score]),
        parked: parked(place)
          .all()
          .map(({ name, score }) => [name, score]),
        pending: [...(group?.pending ?? [])].map(({ id, consumer, number }) => [id, consumer, number]),
        entries: [...(stream?.entries ?? [])].map(({ id }) => id),
        deadLetters: [...(data.stream(data.keys.deadLetters(place.stream))?.entries ?? [])].map(({ id }) => id),
      };
    },
  };
}
