import type { Cancel, Clock } from '../clock.js';
import { loopBackoffMs } from '../loop.js';
import type { LoopName, RillkitEvents } from '../rillkit.events.js';
import type { Place } from '../store/stream-store.js';

export interface TroubleOptions {
  readonly clock: Clock;
  readonly events: RillkitEvents;
  readonly place: Place;
  /** The wait is over. */
  readonly onOver: () => void;
}

/** The calls of one subscription that fail: how many in a row, which, and the wait before the next. */
export class Trouble {
  private readonly backoffMs: (failures: number) => number;
  private readonly failing = new Set<LoopName>();
  private count = 0;
  /** Ends the wait after a failed call; `null` when there is none. */
  private wait: Cancel | null = null;

  constructor(private readonly options: TroubleOptions) {
    this.backoffMs = loopBackoffMs(options.clock, 50, 500);
  }

  /** How many calls have failed in a row. */
  get failures(): number {
    return this.count;
  }

  /** Whether nothing is to be asked for now. */
  get isWaiting(): boolean {
    return this.wait !== null;
  }

  /** A call failed. A failing take does not keep what is new from being read: it answers how long it is to be put off, milliseconds. */
  failed(loop: LoopName, error: unknown): number | null {
    const { clock, events, place, onOver } = this.options;
    this.count += 1;
    this.failing.add(loop);
    events.emit({ type: 'loopFailed', loop, stream: place.stream, group: place.group, error, failures: this.count });
    const waitMs = this.backoffMs(this.count);
    if (loop === 'take') return waitMs;
    this.wait?.();
    this.wait = clock.after(waitMs, () => {
      this.wait = null;
      onOver();
    });
    return null;
  }

  /** A call has worked. */
  answered(loop: 'read' | 'take'): void {
    if (this.count === 0) return;
    // One may work while the other does not: its waits must grow all the same, and health must tell.
    const other = loop === 'read' ? 'take' : 'read';
    const recovered = this.failing.has(loop) || !this.failing.has('audit') ? loop : 'audit';
    for (const one of this.failing) if (one !== other) this.failing.delete(one);
    if (this.failing.size > 0) return;
    const { events, place } = this.options;
    events.emit({ type: 'loopRecovered', loop: recovered, stream: place.stream, group: place.group, failures: this.count });
    this.count = 0;
  }

  stop(): void {
    this.wait?.();
    this.wait = null;
  }
}
