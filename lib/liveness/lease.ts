import { elapsedSince, type Cancel, type Clock, type Moment } from '../clock.js';

/** The longest a read may wait at the server, milliseconds. */
export const MAX_BLOCK_MS = 30_000;

/** How long the name of a worker whose lease is over is kept, milliseconds: the blocked read of a removed consumer is still served, and would bring the name back without a lease. */
export const graveMsOf = (leaseMs: number): number => MAX_BLOCK_MS + leaseMs;

export type LeaseState = 'none' | 'held' | 'lost';

/**
 * What a worker may believe about its own lease at one place. It is counted from the sending of the last good beat, by the clock that went
 * further, so that a worker that was frozen or cut off knows of its end no later than the others do.
 */
export class Lease {
  private sentAt: Moment | null = null;
  private cancel: Cancel | null = null;
  private now: LeaseState = 'none';
  private stopped = false;

  constructor(
    private readonly clock: Clock,
    private readonly leaseMs: number,
    private readonly onLost: () => void,
  ) {}

  get state(): LeaseState {
    this.check();
    return this.now;
  }

  /** Whether the lease runs; asked before each start of a handler. */
  get held(): boolean {
    return this.state === 'held';
  }

  /** A beat that was sent at `sentAt` has been answered. */
  renewed(sentAt: Moment): 'first' | 'kept' | 'regained' | 'tooLate' {
    const before = this.state;
    if (this.stopped) return 'tooLate';
    if (elapsedSince(this.clock, sentAt) >= this.leaseMs) return 'tooLate';
    this.sentAt = sentAt;
    this.now = 'held';
    this.watch(sentAt);
    return before === 'held' ? 'kept' : before === 'lost' ? 'regained' : 'first';
  }

  /** Ends the belief at once: another process holds the name. */
  lose(): void {
    this.cancel?.();
    this.sentAt = null;
    if (this.now !== 'held') return;
    this.now = 'lost';
    this.onLost();
  }

  /** No longer watched: the worker has signed off, and a beat that is answered later renews nothing. */
  stop(): void {
    this.stopped = true;
    this.cancel?.();
    this.now = 'none';
  }

  private check(): void {
    if (this.now === 'held' && this.sentAt && elapsedSince(this.clock, this.sentAt) >= this.leaseMs) this.lose();
  }

  private watch(sentAt: Moment): void {
    this.cancel?.();
    const leftMs = this.leaseMs - elapsedSince(this.clock, sentAt);
    this.cancel = this.clock.after(Math.max(1, leftMs), () => {
      this.check();
      if (this.now === 'held') this.watch(sentAt);
    });
  }
}
