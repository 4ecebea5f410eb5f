import type { EntryId, Place } from '../store/stream-store.js';

/**
 * Why a message was given up: its retries are spent; its handler rejected it; `retryIf` said no; its fields could not be read; its body does
 * not fit the schema; a guard refused it; its worker died with it once too often; its dead letter was refused by the server at first, and
 * the reason of that time is no longer known.
 */
export type DeadLetterReason = 'retries' | 'rejected' | 'notRetryable' | 'undecodable' | 'invalid' | 'forbidden' | 'died' | 'refused';

export interface Death {
  readonly place: Place;
  readonly worker: string;
  readonly id: EntryId;
  readonly attempts: number;
  /** Attempts and hand-backs. */
  readonly deliveries: number;
  readonly reason: DeadLetterReason;
  /** Whatever was thrown, if anything was. */
  readonly error?: unknown;
}

const MAX_ERROR_NAME = 128;
const MAX_MESSAGE = 1_024;
const MAX_CAUSES = 3;

/** What a dead letter carries beside the entry's own fields; the store adds the time. Never throws, whatever was thrown. */
export function deadLetterFields(death: Death): readonly (readonly [name: string, value: string])[] {
  return [
    ['rillkit:stream', death.place.stream],
    ['rillkit:entry', death.id],
    ['rillkit:group', death.place.group],
    ['rillkit:worker', death.worker],
    ['rillkit:attempts', String(death.attempts)],
    ['rillkit:deliveries', String(death.deliveries)],
    ['rillkit:reason', death.reason],
    ['rillkit:error', errorName(death.error)],
    ['rillkit:message', errorMessage(death.error)],
  ];
}

/** The name of what was thrown, at most 128 characters: an error's own, the type of anything else, empty where there is nothing. */
export function errorName(error: unknown): string {
  if (error === undefined) return '';
  if (!isObject(error)) return error === null ? 'null' : typeof error;
  const name = property(error, 'name');
  return typeof name === 'string' && name !== '' ? name.slice(0, MAX_ERROR_NAME) : 'object';
}

/** What was thrown, with its causes, as one text of at most 1 024 characters. */
export function errorMessage(error: unknown): string {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  let next = error;
  while (next !== undefined && !seen.has(next) && parts.length <= MAX_CAUSES) {
    seen.add(next);
    const name = parts.length === 0 ? '' : `${errorName(next)}: `;
    // Cut first: a message of megabytes must not be copied about. One more than is kept, so that what was cut off is marked below.
    parts.push(name + textOf(next).slice(0, MAX_MESSAGE + 1));
    next = isObject(next) ? property(next, 'cause') : undefined;
  }
  return cut(parts.join(' ← '), MAX_MESSAGE);
}

function textOf(thrown: unknown): string {
  if (!isObject(thrown)) return String(thrown);
  const message = property(thrown, 'message');
  return typeof message === 'string' ? message : `(${errorName(thrown)} without a message)`;
}

/** A getter may throw, and a proxy may do anything. */
function property(of: object, name: string): unknown {
  try {
    const value: unknown = Reflect.get(of, name);
    return value;
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is object => (typeof value === 'object' && value !== null) || typeof value === 'function';

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
