import type { EntryId } from '../stream-store.js';
import { invalidId } from './faults.js';

/** Before every entry. */
export const ZERO: EntryId = '0-0';

const MOST = 2n ** 64n - 1n;
/** As Redis writes ids, and surely below its bounds: nearly all there are. */
const PLAIN = /^(0|[1-9]\d{0,18})-(0|[1-9]\d{0,18})$/;

/** An id that somebody gave, written as Redis writes it. A missing sequence is the `first` or the `last` one of its millisecond. @throws StoreError */
export function readId(text: string, missing: 'first' | 'last' = 'first'): EntryId {
  if (PLAIN.test(text)) return text;
  const parts = /^(\d{1,20})(?:-(\d{1,20}))?$/.exec(text);
  if (!parts) throw invalidId();
  const [, ms = '', sequence] = parts;
  const time = BigInt(ms);
  const place = sequence === undefined ? (missing === 'first' ? 0n : MOST) : BigInt(sequence);
  if (time > MOST || place > MOST) throw invalidId();
  return `${time}-${place}`;
}

export const timeOf = (id: EntryId): number => Number(id.slice(0, id.indexOf('-')));

/** The id of an entry that is added at `nowMs`: behind the `last` one, even when the clock went back. */
export function nextId(last: EntryId, nowMs: number): EntryId {
  if (nowMs > timeOf(last)) return `${nowMs}-0`;
  const dash = last.indexOf('-');
  return `${last.slice(0, dash)}-${Number(last.slice(dash + 1)) + 1}`;
}
