import { setTimeout as sleep } from 'node:timers/promises';
import { describe, inject } from 'vitest';
import { leftOf, openStore, type OpenedStore } from '../support/redis-store.js';
import { holdsTheContract, type StoreUnderTest } from './store-suite.js';

async function open(cluster: boolean): Promise<StoreUnderTest> {
  const opened = await openStore(inject('redisUrl'), { cluster });
  const { store, redis } = opened;
  const others: OpenedStore[] = [];
  const now = async (): Promise<number> => {
    const [seconds, micros] = await redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  };
  return {
    store,
    async another() {
      const other = await openStore(inject('redisUrl'), { cluster });
      others.push(other);
      return other.store;
    },
    deleteEntries: async (stream, ids) => void (await redis.xdel(store.keys.stream(stream), ...ids)),
    dropGroup: async ({ stream, group }) => void (await redis.xgroup('DESTROY', store.keys.stream(stream), group)),
    endLease: async (place, worker, inMs) => void (await redis.zadd(store.keys.leases(place), (await now()) + inMs, worker)),
    pause: async (place) => void (await redis.zadd(store.keys.leases(place), 1, '~pause')),
    dropRow: async (place, id) => void (await redis.zrem(store.keys.parked(place), id)),
    left: (place) => leftOf(opened, place),
    pass: (ms) => sleep(ms),
    now,
    close: async () => void (await Promise.all([opened, ...others].map((one) => one.close()))),
  };
}

describe('the Redis store', () => {
  holdsTheContract(() => open(false));
});

describe('the Redis store with keys as on a cluster', () => {
  holdsTheContract(() => open(true));
});
