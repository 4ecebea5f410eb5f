import { sleep, type Clock } from './clock.js';

export interface LoopOptions {
  readonly clock: Clock;
  /** Told of each failed step, before the wait that follows it. `failures` counts those in a row, from 1. */
  readonly onError: (error: unknown, failures: number) => void;
  /** Told of the first step that succeeds after `failures` in a row that did not. */
  readonly onRecovered?: (failures: number) => void;
  /** The wait after the `failures`-th failure in a row, milliseconds. */
  readonly backoffMs?: (failures: number) => number;
}

/** From 50 ms, doubling, at most 1 s; half of it by chance. */
export const loopBackoffMs =
  (clock: Clock, firstMs = 50, maxMs = 1_000) =>
  (failures: number): number => {
    const full = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 20));
    return full / 2 + clock.jitter(full / 2);
  };

/** Runs one step after the other until it is stopped. A step that fails is told, waited on, and run again: a loop never dies. */
export class Loop {
  private stopping = new AbortController();
  private running: Promise<void> | undefined;

  constructor(private readonly options: LoopOptions) {}

  /** `step` is handed a signal that aborts on {@link stop}; it waits by itself where it has nothing to do. Does nothing where the loop runs already. */
  start(step: (signal: AbortSignal) => Promise<void>): void {
    if (this.running) return;
    this.stopping = new AbortController();
    this.running = this.run(step, this.stopping.signal);
  }

  /** Ends within the running step; safe to call twice, or before `start`. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    this.running = undefined;
  }

  private async run(step: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const backoffMs = this.options.backoffMs ?? loopBackoffMs(this.options.clock);
    let failures = 0;
    while (!signal.aborted) {
      try {
        await step(signal);
        if (failures > 0) this.options.onRecovered?.(failures);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        this.options.onError(error, failures);
        await sleep(this.options.clock, backoffMs(failures), signal);
      }
    }
  }
}
