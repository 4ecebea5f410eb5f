import type { Delivered, EntryId, Fields, GroupStart, PendingEntry, Place, Trim } from '../stream-store.js';
import { copyOf } from './copy.js';
import { readId, ZERO } from './entry-ids.js';
import { noFields } from './faults.js';
import { GroupData } from './group-data.js';
import type { Found, Keyspace } from './keyspace.js';

/** Messages on their way in, and out to workers. */
export function append(data: Keyspace, stream: string, fields: Fields, trim: Trim | undefined, nowMs: number): EntryId {
  if (fields.length === 0) throw noFields();
  return data.grow(data.keys.stream(stream)).append(copyOf(fields), nowMs, trim);
}

export function ensureGroup(data: Keyspace, place: Place, from: GroupStart): 'created' | 'existed' {
  const start = from === 'beginning' ? ZERO : from === 'new' ? (data.streamOf(place)?.lastId ?? ZERO) : readId(from.after);
  const { groups } = data.madeStream(data.keys.stream(place.stream));
  if (groups.has(place.group)) return 'existed';
  groups.set(place.group, new GroupData(start, null));
  return 'created';
}

export function hasEntry(data: Keyspace, stream: string, id: EntryId): boolean {
  return entriesOf(data, data.keys.stream(stream), { from: readId(id), to: readId(id, 'last'), count: 1 }).length > 0;
}

export function readNew({ stream, group }: Found, worker: string, count: number, nowMs: number): Delivered[] {
  return stream.read(group, worker, count, nowMs).map(({ id, fields }) => ({ id, number: 1, fields: copyOf(fields) }));
}

export function pendingOf(data: Keyspace, place: Place, worker: string, after: EntryId | null, count: number): PendingEntry[] {
  const { group } = data.groupOf(place);
  const page = after === null ? group.pageAt(worker, 0, count) : group.pageBehind(worker, readId(after), count);
  return page.map(({ id, number }) => ({ id, number }));
}

/** Entries of a key in order, from `from` to `to`, or behind `after`. Nothing where there is no such key. */
export function entriesOf(
  data: Keyspace,
  key: string,
  range: { readonly from?: EntryId; readonly after?: EntryId; readonly to?: EntryId; readonly count: number },
): { readonly id: EntryId; readonly fields: Fields }[] {
  const entries = data.stream(key)?.entries;
  if (!entries) return [];
  const start = range.after !== undefined ? entries.upTo(range.after) : range.from !== undefined ? entries.before(range.from) : 0;
  const end = range.to === undefined ? entries.size : entries.upTo(range.to);
  return entries.slice(start, Math.min(range.count, Math.max(0, end - start))).map(({ id, fields }) => ({ id, fields: copyOf(fields) }));
}
