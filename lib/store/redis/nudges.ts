import type { Redis } from 'ioredis';
import { sleep } from '../../clock.js';
import { Loop } from '../../loop.js';
import { Connection, type ConnectionDeps } from './connection.js';
import type { Keys } from './keys.js';

/** How often the subscription says a word, so that a connection that died in silence is noticed, milliseconds. */
const PING_MS = 10_000;
/** How long the answer to that may take, milliseconds. */
const ANSWER_MS = 5_000;

type Heard = (stream: string) => void;

/** Hears nudges on a connection of its own, made when somebody first listens. What is sent while it is away is missed: the beats tell, later. */
export class Nudges {
  private readonly listeners = new Map<string, Set<Heard>>();
  private connection: Connection | null = null;
  private closed = false;
  private readonly ping: Loop;

  constructor(
    private readonly deps: ConnectionDeps,
    private readonly keys: Keys,
  ) {
    this.ping = new Loop({
      clock: deps.clock,
      backoffMs: () => PING_MS,
      // A connection that cannot be pinged tells of itself.
      onError: () => {},
    });
  }

  /** Hears the group's nudges from now on; answers how to stop. */
  on(group: string, heard: Heard): () => void {
    const channel = this.keys.nudges(group);
    const listeners = this.listeners.get(channel) ?? new Set();
    this.listeners.set(channel, listeners.add(heard));
    if (this.closed) return () => {};
    const connection = this.open();
    // Its own word, not ours: between its first SUBSCRIBE and our calling it ready, a listener may come too.
    if (listeners.size === 1 && connection.client.status === 'ready') this.send(connection, 'SUBSCRIBE', channel);
    return () => {
      if (!listeners.delete(heard) || listeners.size > 0 || this.listeners.get(channel) !== listeners) return;
      this.listeners.delete(channel);
      if (connection.client.status === 'ready') this.send(connection, 'UNSUBSCRIBE', channel);
    };
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([this.ping.stop(), this.connection?.close()]);
  }

  private open(): Connection {
    if (this.connection) return this.connection;
    const connection = new Connection(this.deps, {
      role: 'nudges',
      socketTimeoutMs: ANSWER_MS,
      prepare: (client) => this.subscribe(client),
    });
    this.connection = connection;
    connection.client.on('message', (channel: string, stream: string) => {
      for (const heard of this.listeners.get(channel) ?? []) heard(stream);
    });
    connection.start();
    this.ping.start(async (signal) => {
      await sleep(this.deps.clock, PING_MS, signal);
      if (!signal.aborted && connection.state === 'ready') await connection.client.ping();
    });
    return connection;
  }

  private async subscribe(client: Redis): Promise<void> {
    if (this.listeners.size > 0) await client.subscribe(...this.listeners.keys());
  }

  private send(connection: Connection, command: 'SUBSCRIBE' | 'UNSUBSCRIBE', channel: string): void {
    const sent = command === 'SUBSCRIBE' ? connection.client.subscribe(channel) : connection.client.unsubscribe(channel);
    sent.catch((error: unknown) => {
      // Closed on the way: there is nothing left to hear.
      if (!this.closed) this.deps.events.emit({ type: 'loopFailed', loop: 'nudge', error, failures: 1 });
    });
  }
}
