import type { Cancel, Clock } from '../../lib/clock.js';

/** A clock that stands still until a test turns it. */
export class ManualClock implements Clock {
  private nowMs = 0;
  /** How far the wall clock is ahead of the other. */
  private shiftMs = 1_800_000_000_000;
  private timers: { readonly atMs: number; readonly run: () => void }[] = [];
  private turn: (() => void)[] = [];

  wallMs(): number {
    return this.nowMs + this.shiftMs;
  }

  monotonicMs(): number {
    return this.nowMs;
  }

  after(ms: number, run: () => void): Cancel {
    const timer = { atMs: this.nowMs + ms, run };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }

  endOfTurn(run: () => void): void {
    this.turn.push(run);
  }

  jitter(): number {
    return 0;
  }

  get pendingTimers(): number {
    return this.timers.length;
  }

  /** Turns the clock; what falls due runs in order, and so does what its promises lead to. */
  async advance(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    await this.settle();
    for (;;) {
      const next = this.timers.filter(({ atMs }) => atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs)[0];
      if (!next) break;
      this.timers = this.timers.filter((other) => other !== next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
      await this.settle();
    }
    this.nowMs = endMs;
  }

  /** The wall clock goes on alone: the machine was suspended, or its time was set. */
  jumpWall(ms: number): void {
    this.shiftMs += ms;
  }

  /** Runs what waits for the end of the turn, until nothing does. */
  async settle(): Promise<void> {
    do {
      await new Promise((resolve) => setImmediate(resolve));
      for (const run of this.turn.splice(0)) run();
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.turn.length > 0);
  }
}
