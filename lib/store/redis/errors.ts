import { StoreError, type StoreFault } from '../../rillkit.errors.js';

/** What the first word of an error reply means. An error reply is an answer: what it refuses was not done. */
const FAULTS: Readonly<Record<string, StoreFault>> = {
  NOGROUP: 'noGroup',
  WRONGTYPE: 'wrongType',
  OOM: 'outOfMemory',
  READONLY: 'readOnly',
  UNBLOCKED: 'interrupted',
};

/** Words of ioredis for a command that never left. */
const NOT_SENT = /^Stream isn't writeable/;
/** Words of ioredis and Node for a command whose connection ended under way. */
const CONNECTION =
  /^(Connection is closed|Command aborted|Socket timeout|Command timed out|Reached the max retries|connect |read |write |getaddrinfo )/;

/** Any error of a call as one of ours. The original is not kept: ioredis hangs the command with all its arguments, bodies and passwords too, on it. */
export function storeErrorOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const text = textOfError(error);
  if (NOT_SENT.test(text)) return unavailable('no', text);
  if (CONNECTION.test(text) || hasSystemCode(error)) return unavailable('unknown', text);
  return repliedError(text);
}

/** Why there is no connection (any more): the server's refusal, such as a wrong password, or the network's. */
export function connectionErrorOf(error: unknown): StoreError {
  return new StoreError(`No connection to Redis: ${textOfError(error)}`, storeErrorOf(error).fault, 'no');
}

/** An error that the server answered, by its text. */
export function repliedError(text: string): StoreError {
  return new StoreError(text, FAULTS[/^[A-Z]+/.exec(text)?.[0] ?? ''] ?? 'refused', 'no');
}

export const unavailable = (applied: 'no' | 'unknown', why: string): StoreError =>
  new StoreError(
    applied === 'no' ? `Redis is not connected: ${why}` : `The connection to Redis was lost with a call under way: ${why}`,
    'unavailable',
    applied,
  );

export const isNoScript = (error: unknown): boolean => textOfError(error).startsWith('NOSCRIPT');
/** Lua passes at most some 8,000 arguments to one command: an entry has more fields than a script can write. Nothing was written. */
export const isTooWide = (error: unknown): boolean => textOfError(error).includes('too many results to unpack');
export const isReadOnly = (error: unknown): boolean => textOfError(error).startsWith('READONLY');

/** An error's text, without the arguments that Redis quotes of a command that it does not know. */
export function textOfError(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const quoted = text.indexOf(', with args beginning with');
  return quoted < 0 ? text : text.slice(0, quoted);
}

const hasSystemCode = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  /^(E[A-Z]+|ERR_(TLS|SSL|SOCKET|STREAM)_?.*)$/.test(error.code);
