import type { Cancel, Clock } from '../clock.js';
import { atEndOfTurn, checkMs, turn } from './real-time.js';

interface Timer {
  readonly atMs: number;
  readonly run: () => void;
}

/** A clock that stands still until it is turned. It has no timers of its own, so that it leaves nothing open. */
export class TestClock implements Clock {
  private elapsedMs = 0;
  /** In the order in which they are due, then in that of their making. */
  private readonly timers: Timer[] = [];
  private turns = 0;

  /** `startMs`: what time it is at first, milliseconds since 1970. @default what it really is */
  constructor(private readonly startMs = Date.now()) {
    checkMs('startMs', startMs);
  }

  wallMs(): number {
    return this.startMs + this.elapsedMs;
  }

  monotonicMs(): number {
    return this.elapsedMs;
  }

  after(ms: number, run: () => void): Cancel {
    const timer = { atMs: this.elapsedMs + Math.max(0, ms), run };
    this.timers.splice(this.timers.findLastIndex(({ atMs }) => atMs <= timer.atMs) + 1, 0, timer);
    return () => {
      const at = this.timers.indexOf(timer);
      if (at >= 0) this.timers.splice(at, 1);
    };
  }

  /** Turns of the event loop are real ones. */
  endOfTurn(run: () => void): void {
    this.turns += 1;
    atEndOfTurn(() => {
      this.turns -= 1;
      run();
    });
  }

  /** None: what happens is the same each time. */
  jitter(): number {
    return 0;
  }

  /** Milliseconds until the next timer is due; `null` where there is none. */
  get nextInMs(): number | null {
    const [next] = this.timers;
    return next ? Math.max(0, next.atMs - this.elapsedMs) : null;
  }

  /**
   * Turns the clock by `ms` milliseconds. What falls due on the way runs in its order, each at its own time, and `between` ends before the
   * next does. @default all settles, as {@link settle} says
   */
  async advance(ms: number, between: () => Promise<void> = () => this.settle()): Promise<void> {
    const endMs = this.elapsedMs + checkMs('ms', ms);
    await between();
    for (let next = this.takeDue(endMs); next; next = this.takeDue(endMs)) {
      this.elapsedMs = Math.max(this.elapsedMs, next.atMs);
      next.run();
      await between();
    }
    this.elapsedMs = Math.max(this.elapsedMs, endMs);
  }

  /** Ends when all that is due now has run, and all that follows from it without time or the world outside. */
  async settle(): Promise<void> {
    for (;;) {
      await turn();
      const due = this.takeDue(this.elapsedMs);
      if (due) due.run();
      else if (this.turns === 0) return;
    }
  }

  private takeDue(untilMs: number): Timer | undefined {
    const [next] = this.timers;
    return next && next.atMs <= untilMs ? this.timers.shift() : undefined;
  }
}
