import type { Clock } from '../clock.js';
import { checkKeys, show } from '../option-checks.js';
import { OptionError } from '../rillkit.errors.js';

/** How long a failed attempt waits for its next: milliseconds for the attempt that just failed, from 1, and its error. */
export type Backoff = (attempt: number, error: unknown) => number;

export interface ExponentialOptions {
  /** The first wait, milliseconds. @default 500 */
  readonly firstMs?: number | undefined;
  /** What each wait is multiplied with for the next. @default 2 */
  readonly factor?: number | undefined;
  /** The longest wait, milliseconds. @default 60_000 */
  readonly maxMs?: number | undefined;
  /** Adds up to this share of the wait by chance, 0 to 1, so that what failed together does not come back together. @default 0.2 */
  readonly jitter?: number | undefined;
}

/** A backoff that carries how it wants to be jittered; the clock does it, so that tests can turn it off. */
export interface JitteredBackoff extends Backoff {
  readonly jitter?: number;
}

const positive = (option: string, value: number): number => {
  if (!Number.isFinite(value) || value < 0)
    throw new OptionError(option, `must be a number of milliseconds, 0 or more, not ${show(value)}`);
  return value;
};

/** Each wait `factor` times the one before. @throws OptionError for a value out of bounds. */
export function exponential(options: ExponentialOptions = {}): JitteredBackoff {
  checkKeys('backoff', options, ['firstMs', 'factor', 'maxMs', 'jitter']);
  const { firstMs = 500, factor = 2, maxMs = 60_000, jitter = 0.2 } = options;
  positive('backoff.firstMs', firstMs);
  positive('backoff.maxMs', maxMs);
  if (firstMs > maxMs) throw new OptionError('backoff.firstMs', `must be at most backoff.maxMs (${maxMs}), not ${firstMs}`);
  if (!Number.isFinite(factor) || factor < 1) throw new OptionError('backoff.factor', `must be a number, 1 or more, not ${show(factor)}`);
  if (typeof jitter !== 'number' || !(jitter >= 0 && jitter <= 1)) {
    throw new OptionError('backoff.jitter', `must be a number from 0 to 1, not ${show(jitter)}`);
  }
  // After many attempts the power is Infinity, and 0 times that is no number.
  return Object.assign((attempt: number) => Math.min(maxMs, firstMs * Math.min(factor ** (attempt - 1), Number.MAX_VALUE)), { jitter });
}

/** The same wait each time, milliseconds, without jitter. @throws OptionError for a value out of bounds. */
export function fixed(ms: number): JitteredBackoff {
  positive('backoff', ms);
  return () => ms;
}

/** The longest that a message can be parked, milliseconds: a year. */
const MAX_DELAY_MS = 31_536_000_000;

/**
 * How long a failed attempt waits for its next, jitter and all: whole milliseconds. A backoff of the application's that throws, or answers
 * what is no wait, must cost nobody a message: the default stands in, and `onFault` is told.
 */
export function applyJitter(
  backoff: JitteredBackoff,
  attempt: number,
  error: unknown,
  clock: Pick<Clock, 'jitter'>,
  onFault: (fault: unknown) => void = () => {},
): number {
  const delayMs = safely(backoff, attempt, error, onFault);
  return Math.min(MAX_DELAY_MS, Math.round(delayMs + clock.jitter(delayMs * (backoff.jitter ?? 0))));
}

function safely(backoff: Backoff, attempt: number, error: unknown, onFault: (fault: unknown) => void): number {
  try {
    return positive('backoff', backoff(attempt, error));
  } catch (fault) {
    onFault(fault);
    return exponential()(attempt, error);
  }
}
