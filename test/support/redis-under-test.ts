import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreUnderTest } from '../contract/store-suite.js';
import { uniqueName } from './redis-server.js';
import { leftOf, openStore, type OpenedStore } from './redis-store.js';

interface Params {
  /** Whether keys are laid out for a Cluster. */
  readonly cluster: boolean;
  /** Whether this server may be asked for a key; on a cluster another may have it. @default every key */
  readonly owns?: (key: string) => Promise<boolean>;
}

/** A store on the server at `url`, for the contract: time passes by waiting, and others do what they do by a client of their own. */
export async function redisUnderTest(url: string, { cluster, owns = async () => true }: Params): Promise<StoreUnderTest> {
  const opened = await openStore(url, { cluster });
  const { store, redis } = opened;
  const all: OpenedStore[] = [opened];
  const now = async (): Promise<number> => {
    const [seconds, micros] = await redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  };
  return {
    store,
    async another() {
      const other = await openStore(url, { cluster });
      all.push(other);
      return other.store;
    },
    async newStream() {
      for (;;) {
        const name = uniqueName();
        if (await owns(store.keys.stream(name))) return name;
      }
    },
    deleteEntries: async (stream, ids) => void (await redis.xdel(store.keys.stream(stream), ...ids)),
    dropGroup: async ({ stream, group }) => void (await redis.xgroup('DESTROY', store.keys.stream(stream), group)),
    endLease: async (place, worker, inMs) => void (await redis.zadd(store.keys.leases(place), (await now()) + inMs, worker)),
    pause: async (place) => void (await redis.zadd(store.keys.leases(place), 1, '~pause')),
    dropRow: async (place, id) => void (await redis.zrem(store.keys.parked(place), id)),
    left: (place) => leftOf(opened, place),
    pass: (ms) => sleep(ms),
    now,
    close: async () => void (await Promise.all(all.map((one) => one.close()))),
  };
}
