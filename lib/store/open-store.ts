import type { Redis } from 'ioredis';
import type { Clock } from '../clock.js';
import { NoRedisError } from '../rillkit.errors.js';
import type { RillkitEvents } from '../rillkit.events.js';
import type { ResolvedOptions } from '../rillkit.options.js';
import { MemoryStore } from './memory/memory-store.js';
import { RedisStore } from './redis/redis-store.js';
import type { StreamStore } from './stream-store.js';

/** Makes the store that a connection leads to. Nothing is connected. @throws OptionError */
export function openStore(
  { connection, blockMs }: Pick<ResolvedOptions, 'connection' | 'blockMs'>,
  deps: { readonly clock: Clock; readonly events: RillkitEvents },
): StreamStore {
  if (connection === 'memory') return new MemoryStore().open(deps);
  if (connection instanceof MemoryStore) return connection.open(deps);
  return new RedisStore({ connection, blockMs, ...deps });
}

/** The client that the store's commands go through. @throws NoRedisError where it keeps them elsewhere */
export function clientOf(store: StreamStore): Redis {
  if (store instanceof RedisStore) return store.client;
  throw new NoRedisError();
}
