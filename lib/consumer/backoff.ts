import { OptionError } from '../rillkit.errors.js';

/** How long a failed attempt waits for its next: milliseconds for the attempt that just failed, from 1, and its error. */
export type Backoff = (attempt: number, error: unknown) => number;

export interface ExponentialOptions {
  /** The first wait, milliseconds. @default 500 */
  readonly firstMs?: number;
  /** What each wait is multiplied with for the next. @default 2 */
  readonly factor?: number;
  /** The longest wait, milliseconds. @default 60_000 */
  readonly maxMs?: number;
  /** Adds up to this share of the wait by chance, 0 to 1, so that what failed together does not come back together. @default 0.2 */
  readonly jitter?: number;
}

/** A backoff that carries how it wants to be jittered; the clock does it, so that tests can turn it off. */
export interface JitteredBackoff extends Backoff {
  readonly jitter?: number;
}

const positive = (option: string, value: number): number => {
  if (!Number.isFinite(value) || value < 0) throw new OptionError(option, `must be a number of milliseconds, 0 or more, not ${value}`);
  return value;
};

/** Each wait `factor` times the one before. @throws OptionError for a value out of bounds. */
export function exponential(options: ExponentialOptions = {}): JitteredBackoff {
  const { firstMs = 500, factor = 2, maxMs = 60_000, jitter = 0.2 } = options;
  positive('backoff.firstMs', firstMs);
  positive('backoff.maxMs', maxMs);
  if (!Number.isFinite(factor) || factor < 1) throw new OptionError('backoff.factor', `must be a number, 1 or more, not ${factor}`);
  if (!(jitter >= 0 && jitter <= 1)) throw new OptionError('backoff.jitter', `must be a number from 0 to 1, not ${jitter}`);
  return Object.assign((attempt: number) => Math.min(maxMs, firstMs * factor ** (attempt - 1)), { jitter });
}

/** The same wait each time, milliseconds, without jitter. @throws OptionError for a value out of bounds. */
export function fixed(ms: number): JitteredBackoff {
  positive('backoff', ms);
  return () => ms;
}
