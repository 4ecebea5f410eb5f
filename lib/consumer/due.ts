import type { Cancel, Clock } from '../clock.js';

/** Knows whether parked messages are due: by the time at which this process parked them, by a nudge, by a beat, by a take that found more. */
export class Due {
  private timer: { readonly atMs: number; readonly cancel: Cancel } | null = null;
  private due = false;
  private heard = false;
  private stopped = false;

  constructor(
    private readonly clock: Clock,
    private readonly onDue: () => void,
  ) {}

  /** Whether some are believed to be due now. */
  get known(): boolean {
    return this.due;
  }

  /** One is due in `delayMs` milliseconds, now where that is 0 or less. */
  in(delayMs: number): void {
    if (this.stopped) return;
    if (delayMs <= 0) return this.now();
    const atMs = this.clock.monotonicMs() + delayMs;
    if (this.timer && this.timer.atMs <= atMs) return;
    this.timer?.cancel();
    const cancel = this.clock.after(delayMs, () => {
      this.timer = null;
      this.now();
    });
    this.timer = { atMs, cancel };
  }

  /** A take is on its way: what is heard of from now on may not be in its answer. */
  asked(): void {
    this.heard = false;
  }

  /** The take has answered: the next is due in `nextDueMs`, or none is parked. */
  answered(nextDueMs: number | null): void {
    this.due = this.heard;
    if (nextDueMs !== null) this.in(nextDueMs);
  }

  /** The take has failed: those that are due are asked for again in `waitMs`. */
  postponed(waitMs: number): void {
    this.due = false;
    this.in(waitMs);
  }

  /** Nothing is taken any more, so nothing is waited for, whatever is still told. */
  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
    this.timer = null;
    this.due = false;
  }

  private now(): void {
    this.heard = true;
    if (this.due) return;
    this.due = true;
    this.onDue();
  }
}
