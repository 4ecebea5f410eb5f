import { MAX_TIMER_MS } from './option-checks.js';

/** The one place that knows what time it is. All waiting in the library goes through it, so that a test can turn it. */
export interface Clock {
  /** Milliseconds since 1970 by the machine's clock; may jump. For elapsed time see {@link elapsedSince}. */
  wallMs(): number;
  /** Milliseconds by a clock that never jumps, but stands still while the machine is suspended. */
  monotonicMs(): number;
  /** Calls `run` once in `ms` milliseconds, unless the answered function is called before. */
  after(ms: number, run: () => void): Cancel;
  /** Calls `run` once when everything that is ready in this turn of the event loop has run. */
  endOfTurn(run: () => void): void;
  /** Anything from 0 to `ms`, by chance. */
  jitter(ms: number): number;
}

export type Cancel = () => void;

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, run) {
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number): void => {
      // What is longer, Node calls at once.
      timer = leftMs > MAX_TIMER_MS ? setTimeout(() => wait(leftMs - MAX_TIMER_MS), MAX_TIMER_MS) : setTimeout(run, leftMs);
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
  endOfTurn: (run) => void setImmediate(run),
  jitter: (ms) => Math.random() * ms,
};

/** A moment by both clocks. */
export interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export const momentOf = (clock: Clock): Moment => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() });

/** Milliseconds since `moment`, by the clock that went further: a suspended machine stops the monotonic one, a corrected wall clock may fall back. */
export const elapsedSince = (clock: Clock, moment: Moment): number =>
  Math.max(clock.wallMs() - moment.wallMs, clock.monotonicMs() - moment.monotonicMs);

/** Waits `ms` milliseconds, less when `signal` aborts: that ends the wait, it is no error. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal?.addEventListener('abort', end, { once: true });
  });
}
