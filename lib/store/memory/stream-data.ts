import { compareIds } from '../entry-id.js';
import type { EntryId, Fields, Trim } from '../stream-store.js';
import { ById } from './by-id.js';
import { nextId, ZERO } from './entry-ids.js';
import type { GroupData } from './group-data.js';

interface Entry {
  readonly id: EntryId;
  readonly fields: Fields;
}

/** As many entries as Redis keeps in one node, if they are small; larger ones fill theirs sooner. */
const NODE = 100;

/** A stream as Redis keeps it: entries, groups, and what is needed to tell how far a group has come. */
export class StreamData {
  readonly entries = new ById<Entry>();
  readonly groups = new Map<string, GroupData>();
  private last: EntryId = ZERO;
  /** The highest id that was deleted otherwise than by trimming. */
  private maxDeleted: EntryId = ZERO;
  private added = 0;

  get lastId(): EntryId {
    return this.last;
  }

  get(id: EntryId): Entry | undefined {
    return this.entries.get(id);
  }

  append(fields: Fields, nowMs: number, trim?: Trim): EntryId {
    const id = nextId(this.last, nowMs);
    this.entries.add({ id, fields });
    this.last = id;
    this.added += 1;
    if (trim) this.trimTo(trim);
    return id;
  }

  /** Answers how many were there. */
  delete(ids: readonly EntryId[]): number {
    let deleted = 0;
    for (const id of ids) {
      if (!this.entries.remove(id)) continue;
      deleted += 1;
      if (compareIds(id, this.maxDeleted) > 0) this.maxDeleted = id;
    }
    return deleted;
  }

  /** Drops the oldest; approximately: whole nodes only. */
  trimTo({ maxLen, approximate }: Trim): void {
    const excess = this.entries.size - maxLen;
    if (excess > 0) this.entries.dropFirst(approximate ? excess - (excess % NODE) : excess);
  }

  /** Drops what is older than `id`. */
  trimBefore(id: EntryId): void {
    this.entries.dropFirst(this.entries.before(id));
  }

  /** Gives a consumer what the group has not been given yet. */
  read(group: GroupData, consumer: string, count: number, nowMs: number): Entry[] {
    const entries = this.entries.slice(this.entries.upTo(group.lastId), count);
    for (const { id } of entries) {
      group.entriesRead =
        group.entriesRead !== null && !this.isBrokenFrom(id)
          ? group.entriesRead + 1
          : this.added > 0
            ? this.placeOf(id)
            : group.entriesRead;
      group.lastId = id;
      group.deliver(id, consumer, nowMs);
    }
    return entries;
  }

  /** How many entries the group has not been given; `null` where deletions in the middle keep that from being known. */
  lagOf({ lastId, entriesRead }: GroupData): number | null {
    if (this.added === 0) return 0;
    if (entriesRead !== null && !this.isBrokenFrom(lastId)) return this.added - entriesRead;
    const place = this.placeOf(lastId);
    return place === null ? null : this.added - place;
  }

  copy(): StreamData {
    const copy = new StreamData();
    for (const entry of this.entries) copy.entries.add(entry);
    for (const [name, group] of this.groups) copy.groups.set(name, group.copy());
    copy.last = this.last;
    copy.maxDeleted = this.maxDeleted;
    copy.added = this.added;
    return copy;
  }

  private get firstId(): EntryId {
    return this.entries.first?.id ?? ZERO;
  }

  /** Whether something was deleted at `id` or behind it. */
  private isBrokenFrom(id: EntryId): boolean {
    if (this.entries.size === 0 || this.maxDeleted === ZERO || compareIds(this.firstId, this.maxDeleted) > 0) return false;
    return compareIds(id, this.maxDeleted) <= 0;
  }

  /** Which of all entries that ever were `id` is, from 1, as far as that can be told. */
  private placeOf(id: EntryId): number | null {
    if (this.added === 0) return 0;
    if (this.entries.size === 0 && compareIds(id, this.last) < 1) return this.added;
    if (id === this.last) return this.added;
    if (this.maxDeleted === ZERO || compareIds(this.maxDeleted, this.firstId) < 0) {
      const toFirst = compareIds(id, this.firstId);
      if (toFirst < 0) return this.added - this.entries.size;
      if (toFirst === 0) return this.added - this.entries.size + 1;
    }
    return null;
  }
}
