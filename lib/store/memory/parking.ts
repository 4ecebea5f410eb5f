import type { EntryId, Place, Taken } from '../stream-store.js';
import type { Keyspace } from './keyspace.js';
import { copyOf } from './copy.js';

/** The pseudo consumer that owns what is parked. */
export const PARKED = '~parked';
/** The row of parked messages that never leaves. */
export const STANDING = '~';

/** The number of a hand-back: one attempt less, one hand-back more, so that it rises; from `cap` hand-backs on it stays. */
export const spare = (number: number, cap: number): number => (Math.floor(number / 1_000) >= cap ? number : number + 999);

/** Hands one pending entry to {@link PARKED}; answers whether it is still in the stream. What is not is dropped from the pending list. */
export function park(data: Keyspace, place: Place, id: EntryId, dueMs: number, nowMs: number, number?: number): boolean {
  const rows = data.parked(place);
  const { stream, group } = data.groupOf(place);
  rows.set(id, dueMs);
  const pending = group.pending.get(id);
  if (stream.get(id) && pending) {
    group.claim(pending, PARKED, nowMs, number);
    return true;
  }
  group.remove(id);
  rows.remove(id);
  return false;
}

/** Parks pending entries as due now, their numbers as they are; answers those that were trimmed. */
export const parkAll = (data: Keyspace, place: Place, ids: readonly EntryId[], nowMs: number): EntryId[] =>
  ids.filter((id) => !park(data, place, id, nowMs, nowMs));

/** Hands parked messages that are due to a worker. A row is only a hint: what {@link PARKED} does not own is left alone. */
export function take(data: Keyspace, place: Place, worker: string, count: number, nowMs: number): Taken {
  const rows = data.parked(place);
  const messages: Taken['messages'][number][] = [];
  const lost: EntryId[] = [];
  const ids = rows.names(-Infinity, (due) => due <= nowMs, count);
  if (ids.length > 0) {
    const { stream, group } = data.groupOf(place);
    for (const id of ids) {
      const pending = group.pendingOf(PARKED, id);
      if (!pending) continue;
      const entry = stream.get(id);
      if (!entry) {
        group.remove(id);
        lost.push(id);
        continue;
      }
      group.claim(pending, worker, nowMs, pending.number + 1);
      messages.push({ id, number: pending.number, fields: copyOf(entry.fields) });
    }
    rows.remove(...ids);
  }
  return { messages, lost, nextDueMs: firstDueMs(data, place, nowMs, 0) };
}

/** When the first row falls due, milliseconds from now, at least `least`; `null` where nothing is parked. */
export function firstDueMs(data: Keyspace, place: Place, nowMs: number, least: number): number | null {
  const due = data.parked(place).first?.score ?? Infinity;
  return due === Infinity ? null : Math.max(least, Math.ceil(due - nowMs));
}
