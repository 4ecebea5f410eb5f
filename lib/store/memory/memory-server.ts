import type { Clock } from '../../clock.js';
import { unavailable } from './faults.js';
import { Keyspace } from './keyspace.js';
import { Waits } from './waits.js';

type Heard = (stream: string) => void;

/** What a Redis server is to several clients: what is kept, who waits for it, who listens. Does one thing at a time. */
export class MemoryServer {
  private kept = new Keyspace();
  readonly waits = new Waits();
  private readonly listeners = new Map<string, Set<Heard>>();

  /** `clock`: its own, where it has one. */
  constructor(private readonly clock: Clock | undefined) {}

  /** What is kept, at this moment: after a rollback it is another object. */
  get data(): Keyspace {
    return this.kept;
  }

  /** Remembers what is kept now; answers how to go back to it: a failover that loses writes. Reads that wait then lose their connection. */
  snapshot(): () => void {
    const then = this.kept.copy();
    return () => {
      this.kept = then.copy();
      this.waits.drop(unavailable('unknown', 'it went back to an earlier state'));
    };
  }

  /** Does one thing at one moment, then serves those who waited for it. `clock`: the caller's. */
  run<T>(clock: Clock, work: (data: Keyspace, nowMs: number) => T): T {
    const nowMs = Math.floor((this.clock ?? clock).wallMs());
    try {
      return work(this.kept, nowMs);
    } finally {
      this.waits.serve(this.kept, nowMs);
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
