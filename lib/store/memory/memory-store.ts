import type { Clock } from '../../clock.js';
import type { RillkitEvents } from '../../rillkit.events.js';
import type { StreamStore } from '../stream-store.js';
import { MemoryConnection } from './memory-connection.js';
import { MemoryServer } from './memory-server.js';

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
  /** What is kept, key by key as on Redis, for tests to look at and to tamper with. */
  readonly server: MemoryServer;

  constructor({ clock }: MemoryStoreParams = {}) {
    this.server = new MemoryServer(clock);
  }

  /** Another door to what is kept: as another connection to a server. Nothing goes through it before it is started. */
  open(deps: { readonly clock: Clock; readonly events: RillkitEvents }): StreamStore {
    return new MemoryConnection(this.server, deps);
  }

  /** Forgets everything, as `FLUSHALL` does. Who waits for a stream hears that it is gone. */
  clear(): void {
    const { data, waits } = this.server;
    data.clear();
    waits.serve(data, 0);
  }
}
