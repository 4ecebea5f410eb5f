import { Redis } from 'ioredis';
import { systemClock } from '../../lib/clock.js';
import { RillkitEvents, type RillkitEvent } from '../../lib/rillkit.events.js';
import { RedisStore, type RedisStoreParams } from '../../lib/store/redis/redis-store.js';
import { infoOf, listOf, textOf } from '../../lib/store/redis/replies.js';
import type { Place } from '../../lib/store/stream-store.js';

/** A store of the test's own, connected, and a plain client beside it that sees and does what tests need. */
export interface OpenedStore {
  readonly store: RedisStore;
  readonly redis: Redis;
  readonly events: RillkitEvents;
  /** All events since it was opened. */
  readonly seen: RillkitEvent[];
  close(): Promise<void>;
}

const CONNECTION_EVENTS = ['connected', 'disconnected', 'loopFailed'] as const;

/** `url`: for the store; `redis` goes to `directUrl` where that differs, such as past a proxy. */
export async function openStore(url: string, params: Partial<RedisStoreParams> & { directUrl?: string } = {}): Promise<OpenedStore> {
  const { directUrl = url, ...rest } = params;
  const events = new RillkitEvents((error) => {
    throw error;
  });
  const seen: RillkitEvent[] = [];
  for (const type of CONNECTION_EVENTS) events.on(type, (event) => seen.push(event));
  const store = new RedisStore({ connection: url, clock: systemClock, events, blockMs: 5_000, ...rest });
  const redis = new Redis(directUrl, { protocol: 2 });
  redis.on('error', () => {});
  store.start();
  if (!(await store.ready(10_000))) throw new Error('the store found no connection');
  return {
    store,
    redis,
    events,
    seen,
    async close() {
      await store.close();
      redis.disconnect();
    },
  };
}

/** Everything that is kept beside the stream. */
export async function leftOf({ store, redis }: Pick<OpenedStore, 'store' | 'redis'>, place: Place) {
  const rows = async (key: string): Promise<string[]> => ((await redis.type(key)) === 'zset' ? redis.zrange(key, '0', '-1') : []);
  const groups = await redis.callBuffer('XINFO', 'CONSUMERS', store.keys.stream(place.stream), place.group).catch(() => []);
  const consumers = listOf(groups).map((consumer) => textOf(infoOf(consumer).get('name')));
  return {
    leases: await rows(store.keys.leases(place)),
    parked: await rows(store.keys.parked(place)),
    consumers: consumers.toSorted(),
  };
}
