import type { Clock } from '../clock.js';

/** How long a message that was read ahead may wait for its start, milliseconds. */
export const READ_AHEAD_MS = 50;

/** How much one more duration weighs in the mean: slow ones count at once, and are forgotten after some dozens of fast ones. */
const WEIGHT = 0.1;

export interface ReadAheadOptions {
  readonly prefetch: number | 'auto';
  readonly concurrency: number;
  readonly count: number;
  readonly maxRetries: number;
  readonly maxHandBacks: number;
}

/**
 * Says how many messages may be read ahead of free slots. `auto` reads only so far ahead that a message waits about 50 ms for its start, by
 * the mean duration of this handler lately: nothing before the first has ended, nothing for slow handlers, up to `count` for fast ones.
 * A number is the user's word. Without retries nothing is read ahead: a neighbour's crash would cost a message its only attempt.
 */
export class ReadAhead {
  private meanMs: number | null = null;
  private stalled = false;
  private lastEndedMs: number;

  constructor(
    private readonly options: ReadAheadOptions,
    private readonly clock: Clock,
  ) {
    this.lastEndedMs = clock.monotonicMs();
  }

  get allowance(): number {
    const { prefetch, concurrency, count, maxRetries, maxHandBacks } = this.options;
    if (maxRetries === 0) return 0;
    if (prefetch !== 'auto') return prefetch;
    // What stalls is handed back, and that would cost it an attempt.
    if (maxHandBacks === 0) return 0;
    if (this.meanMs === null || this.stalled) return 0;
    return this.meanMs * count <= READ_AHEAD_MS * concurrency ? count : Math.floor((READ_AHEAD_MS * concurrency) / this.meanMs);
  }

  ended(durationMs: number, nowMs: number): void {
    this.meanMs = this.meanMs === null ? durationMs : this.meanMs + WEIGHT * (durationMs - this.meanMs);
    this.lastEndedMs = nowMs;
    this.stalled = false;
  }

  /** Whether what was read ahead waits too long: milliseconds until it does, 0 when it does now, `null` where nobody minds. */
  stallsInMs(waitingSinceMs: number): number | null {
    if (this.options.prefetch !== 'auto') return null;
    return Math.max(0, Math.max(waitingSinceMs, this.lastEndedMs) + READ_AHEAD_MS - this.clock.monotonicMs());
  }

  /** Nothing is read ahead until a handler has ended. */
  stall(): void {
    this.stalled = true;
  }
}
