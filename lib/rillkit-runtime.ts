import { systemClock, type Clock } from './clock.js';
import type { RillkitEvents } from './rillkit.events.js';
import type { ResolvedOptions } from './rillkit.options.js';
import { openStore } from './store/open-store.js';
import type { StreamStore } from './store/stream-store.js';

/** What a module runs on: its time, and where its messages are kept. The one thing that tests put another in the place of. */
export interface RillkitRuntime {
  readonly clock: Clock;
  /** Makes the store of a module with these options. Nothing is connected. @throws OptionError */
  openStore(options: ResolvedOptions, deps: { readonly clock: Clock; readonly events: RillkitEvents }): StreamStore;
}

export const systemRuntime: RillkitRuntime = { clock: systemClock, openStore };
