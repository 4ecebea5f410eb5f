import { show } from '../option-checks.js';
import { OptionError } from '../rillkit.errors.js';

// As they were when this was loaded: a test may put fake ones in their place.
const { setImmediate: immediate, setTimeout: timeout } = globalThis;
const { performance: watch } = globalThis;
const now = watch.now.bind(watch);

/** Time as it really goes by, for a test that waits for what no clock can turn: a handler's own input and output. */
export const realMs = (): number => now();

/** Calls `run` when everything that is ready in this turn of the event loop has run. */
export const atEndOfTurn = (run: () => void): void => void immediate(run);

/** Ends when everything that is ready has run. */
export const turn = (): Promise<void> => new Promise((resolve) => immediate(resolve));

/** Lets a moment of real time go by. */
export const pause = (): Promise<void> => new Promise((resolve) => timeout(resolve, 1));

/** @throws OptionError */
export function checkMs(option: string, ms: number): number {
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0) return ms;
  throw new OptionError(option, `must be a number of milliseconds, 0 or more, not ${show(ms)}`);
}
