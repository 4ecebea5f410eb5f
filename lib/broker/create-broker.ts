import { systemClock } from '../clock.js';
import { RillkitEvents } from '../rillkit.events.js';
import { resolveOptions, type RillkitModuleOptions } from '../rillkit.options.js';
import { clientOf, openStore } from '../store/open-store.js';
import type { StreamStore } from '../store/stream-store.js';
import { Broker } from './broker.js';

export type CreateBrokerOptions = Pick<RillkitModuleOptions, 'connection' | 'group' | 'publishTimeoutMs'>;

/** A Broker with a connection of its own, which keeps the process alive until it is closed. */
export class StandaloneBroker extends Broker {
  private readonly store: StreamStore;

  /** See {@link createBroker}. */
  constructor(
    options: CreateBrokerOptions,
    /** What happens to it: published, publishFailed, connected, disconnected, … */
    readonly events: RillkitEvents = new RillkitEvents(),
  ) {
    const resolved = resolveOptions(options);
    const store = openStore(resolved, { clock: systemClock, events });
    super({ store, clock: systemClock, events, options: resolved, client: () => clientOf(store) });
    this.store = store;
    store.start();
  }

  /** Closes the connection. What is under way fails: wait for it before. Safe to call twice; never rejects. */
  async close(): Promise<void> {
    await this.store.close();
  }
}

/**
 * Makes a Broker outside Nest, for scripts and tools: `const broker = createBroker({ connection: 'redis://localhost' })`. It connects by
 * itself, and again for as long as it takes; a call waits for the connection. Close it at the end.
 *
 * @throws OptionError
 */
export const createBroker = (options: CreateBrokerOptions = {}): StandaloneBroker => new StandaloneBroker(options);
