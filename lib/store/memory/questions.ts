import { StoreError } from '../../rillkit.errors.js';
import { compareIds } from '../entry-id.js';
import type { EntryId, Located, Place, StreamStats } from '../stream-store.js';
import { readId, timeOf } from './entry-ids.js';
import type { Keyspace } from './keyspace.js';
import { PARKED, STANDING } from './parking.js';

/** What is asked of a stream and its group. Changes nothing. */
export function workers(data: Keyspace, place: Place, nowMs: number): string[] {
  const names = data.leases(place).names(nowMs, () => true, Infinity);
  return names.filter((name) => !name.startsWith('~')).toSorted();
}

/** Each figure for itself: what is refused is not known. */
export function stats(data: Keyspace, place: Place, nowMs: number): StreamStats {
  const stream = ask(() => data.streamOf(place) ?? null);
  const length = ask(() => data.streamOf(place)?.entries.size ?? 0);
  const isEmpty = stream === null && length === 0;
  const group = stream?.groups.get(place.group) ?? null;
  const first = group?.pending.first?.id;
  const rows = ask(() => data.parked(place));
  return {
    length,
    undelivered: isEmpty ? 0 : group && stream ? stream.lagOf(group) : null,
    pending: isEmpty ? 0 : (group?.pending.size ?? null),
    oldestPendingAgeMs: first === undefined ? null : Math.max(0, nowMs - timeOf(first)),
    parked: rows && rows.size - (rows.score(STANDING) === undefined ? 0 : 1),
    deadLetters: ask(() => data.stream(data.keys.deadLetters(place.stream))?.entries.size ?? 0),
  };
}

export function locate(data: Keyspace, place: Place, asked: EntryId, nowMs: number): Located {
  const id = readId(asked);
  const stream = data.streamOf(place);
  const group = stream?.groups.get(place.group);
  const pending = group?.pending.get(id);
  if (pending?.consumer === PARKED) {
    return { is: 'parked', number: pending.number, dueAtMs: data.parked(place).score(id) ?? nowMs };
  }
  if (pending) return { is: 'running', worker: pending.consumer, number: pending.number };
  if (!stream?.get(id)) return { is: 'gone' };
  return { is: group && compareIds(id, group.lastId) <= 0 ? 'settled' : 'waiting' };
}

function ask<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}
