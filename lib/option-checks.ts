import { OptionError } from './rillkit.errors.js';

/** The longest wait that a timer can do, milliseconds: almost 25 days. */
export const MAX_TIMER_MS = 2_147_483_647;

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** Whether a value is an object with named options: not an array, not a function. */
export const isOptions = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Refuses what is no object, and every option that is not `known`; `undefined` counts as absent. `later` are planned and refused as such. */
export function checkKeys(path: string, options: unknown, known: readonly string[], later: readonly string[] = []): void {
  if (!isOptions(options)) throw new OptionError(path === '' ? 'options' : path, `must be an object, not ${show(options)}`);
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined || known.includes(key)) continue;
    if (later.includes(key)) throw new OptionError(join(path, key), 'is not there yet');
    throw new OptionError(join(path, key), `is not known here; known are ${known.join(', ')}`);
  }
}

/** A whole number within its bounds. `unit` is named in the error: `'milliseconds'`. */
export function whole(option: string, value: unknown, { min, max }: Bounds, unit = ''): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  const bounds = max === Number.MAX_SAFE_INTEGER ? `${grouped(min)} or more` : `from ${grouped(min)} to ${grouped(max)}`;
  throw new OptionError(option, `must be a whole number${unit && ` of ${unit}`}, ${bounds}, not ${show(value)}`);
}

export const wholeMs = (option: string, value: unknown, bounds: Bounds): number => whole(option, value, bounds, 'milliseconds');

export function flag(option: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new OptionError(option, `must be true or false, not ${show(value)}`);
}

export function oneOf<const Value extends string>(option: string, value: unknown, values: readonly Value[]): Value {
  const found = values.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw new OptionError(option, `must be one of ${values.map((v) => `'${v}'`).join(', ')}, not ${show(value)}`);
}

/** A function, given back with the type it was declared with. */
export function callable<F>(option: string, value: F, signature: string): F {
  if (typeof value === 'function') return value;
  throw new OptionError(option, `must be a function ${signature}, not ${show(value)}`);
}

/** A name that passes `check`, whose error is told as one of the option. */
export function named(option: string, value: unknown, check: (name: string) => void): string {
  if (typeof value !== 'string') throw new OptionError(option, `must be a string, not ${show(value)}`);
  try {
    check(value);
  } catch (error) {
    throw new OptionError(option, error instanceof Error ? error.message : String(error));
  }
  return value;
}

/** A value as an error shows it: short, and never the inside of an object, which may be a secret. */
export function show(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? `'${value.slice(0, 40)}…'` : `'${value}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

export const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

const grouped = (value: number): string => value.toLocaleString('en').replaceAll(',', ' ');
