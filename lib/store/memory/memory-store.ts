import type { Clock } from '../../clock.js';
import type { RillkitEvents } from '../../rillkit.events.js';
import type { StreamStore } from '../stream-store.js';
import { Keyspace } from './keyspace.js';
import { MemoryConnection } from './memory-connection.js';
import { Waits } from './waits.js';

type Heard = (stream: string) => void;

export interface MemoryStoreParams {
  /** The store's own clock, which gives entries their ids and ends leases. @default the clock of whoever calls */
  readonly clock?: Clock | undefined;
}

/**
 * Streams, groups and leases in this process, with the behaviour of Redis to the letter, for tests and for trying things out. What is kept
 * ends with the process.
 *
 * `connection: 'memory'` makes one for each module. Given as `connection`, one object is shared by several: as many workers in one process.
 */
export class MemoryStore {
  /** What is kept, key by key as on Redis. */
  readonly data = new Keyspace();
  readonly waits = new Waits();
  private readonly listeners = new Map<string, Set<Heard>>();

  constructor(private readonly params: MemoryStoreParams = {}) {}

  /** Another door to what is kept: as another connection to a server. Nothing goes through it before it is started. */
  open(deps: { readonly clock: Clock; readonly events: RillkitEvents }): StreamStore {
    return new MemoryConnection(this, deps);
  }

  /** Forgets everything, as `FLUSHALL` does. */
  clear(): void {
    this.data.clear();
    this.waits.serve(this.data, 0);
  }

  /** Does one thing at one moment, then serves those who waited for it. `clock`: the caller's. */
  run<T>(clock: Clock, work: (data: Keyspace, nowMs: number) => T): T {
    const nowMs = Math.floor((this.params.clock ?? clock).wallMs());
    try {
      return work(this.data, nowMs);
    } finally {
      this.waits.serve(this.data, nowMs);
    }
  }

  tell(channel: string, stream: string): void {
    for (const heard of this.listeners.get(channel) ?? []) heard(stream);
  }

  /** Hears a channel from now on; answers how to stop. */
  hear(channel: string, heard: Heard): () => void {
    // Wrapped, so that a function given twice is heard twice and stopped once.
    const own: Heard = (stream) => heard(stream);
    const listeners = this.listeners.get(channel) ?? new Set();
    this.listeners.set(channel, listeners.add(own));
    return () => {
      listeners.delete(own);
      if (listeners.size === 0 && this.listeners.get(channel) === listeners) this.listeners.delete(channel);
    };
  }
}
