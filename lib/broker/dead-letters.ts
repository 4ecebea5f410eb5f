import { checkKeys, named, show, whole } from '../option-checks.js';
import { OptionError, ReplayError } from '../rillkit.errors.js';
import { checkGroupName } from '../store/names.js';
import type { DeadLetterEntry, EntryId, StreamStore } from '../store/stream-store.js';
import { DeadLetter } from './dead-letter.js';
import type { Stream } from './stream.js';

/** Whose dead letters are meant; all groups' where none is named. */
export interface OfGroup {
  readonly group?: string | undefined;
}

export interface ListOptions extends OfGroup {
  /** Begins behind this dead letter: the `id` of the last one of the page before. @default at the oldest */
  readonly after?: EntryId | undefined;
  /** The most dead letters of this page, 1 to 1 000. @default 100 */
  readonly limit?: number | undefined;
}

export interface ReplayOptions extends OfGroup {
  /** Only these dead letters. @default the oldest */
  readonly ids?: readonly EntryId[] | undefined;
  /** The most that are replayed, 1 or more. @default 100, with `ids` all of them */
  readonly limit?: number | undefined;
}

export interface Replayed {
  /** In the order in which they were replayed; `id` is that of the new entry. */
  readonly replayed: readonly { readonly deadLetter: EntryId; readonly id: EntryId }[];
  /** Dead letters that somebody else replayed or removed in the meantime, or that never were. */
  readonly gone: number;
}

type DeskStore = Pick<StreamStore, 'deadLetters' | 'deadLetter' | 'countDeadLetters' | 'removeDeadLetters' | 'replay' | 'ready'>;

const DEFAULT_LIMIT = 100;
const MAX_PAGE = 1_000;
/** Dead letters come with their bodies, so that pages are kept small. */
const SCAN_PAGE = 100;

/** The dead letters of one stream: to look at, to replay, to throw away. Every method rejects with a {@link StoreError} where Redis fails it. */
export class DeadLetters {
  constructor(
    private readonly store: DeskStore,
    private readonly stream: Stream,
    /** How long a call waits for a connection, milliseconds. */
    private readonly waitMs: number,
  ) {}

  /** One page, oldest first. With a `group`, the others' are read and passed over. */
  async list(options: ListOptions = {}): Promise<readonly DeadLetter[]> {
    checkKeys('deadLetters.list', options, ['group', 'after', 'limit']);
    const limit = whole('deadLetters.list.limit', options.limit ?? DEFAULT_LIMIT, { min: 1, max: MAX_PAGE });
    const after = options.after === undefined ? null : checkId('deadLetters.list.after', options.after);
    const found: DeadLetter[] = [];
    const group = checkGroup(options.group);
    // Of one group few may be found on a page, however small the limit: that must not become a question for each of the others.
    const page = group === null ? Math.min(limit, SCAN_PAGE) : SCAN_PAGE;
    for await (const letter of this.scan(group, after, page)) {
      found.push(letter);
      if (found.length === limit) break;
    }
    return found;
  }

  /** One of them, by its id among the dead letters; `null` where there is none. */
  async get(id: EntryId): Promise<DeadLetter | null> {
    checkId('id', id);
    await this.store.ready(this.waitMs);
    const entry = await this.store.deadLetter(this.stream.name, id);
    return entry === null ? null : this.letter(entry);
  }

  /** How many there are. Of one group: each one is read, which takes its time where there are many. */
  async count(options: OfGroup = {}): Promise<number> {
    checkKeys('deadLetters.count', options, ['group']);
    const group = checkGroup(options.group);
    await this.store.ready(this.waitMs);
    if (group === null) return this.store.countDeadLetters(this.stream.name);
    let count = 0;
    for await (const _ of this.scan(group, null)) count += 1;
    return count;
  }

  /**
   * Puts dead letters back into the stream, oldest first, for the group that gave them up and for no other. Each is one atomic step, so
   * that a crash loses and doubles none. One that fails again meanwhile waits for the next call.
   * @throws ReplayError where storage fails on the way; it says what was replayed till then.
   */
  async replay(options: ReplayOptions = {}): Promise<Replayed> {
    checkKeys('replay', options, ['group', 'ids', 'limit']);
    const group = checkGroup(options.group);
    const ids = options.ids === undefined ? null : checkIds('replay.ids', options.ids);
    const limit = whole('replay.limit', options.limit ?? ids?.length ?? DEFAULT_LIMIT, { min: ids ? 0 : 1, max: Number.MAX_SAFE_INTEGER });
    const replayed: { readonly deadLetter: EntryId; readonly id: EntryId }[] = [];
    let gone = 0;
    await this.store.ready(this.waitMs);
    try {
      for await (const id of ids === null ? this.idsOf(group) : this.among(ids, group)) {
        if (replayed.length >= limit) break;
        const answer = id === null ? null : await this.store.replay(this.stream.name, id);
        if (id === null || answer?.is !== 'replayed') gone += 1;
        else replayed.push({ deadLetter: id, id: answer.id });
      }
    } catch (cause) {
      throw new ReplayError(`The replay of dead letters of "${this.stream.name}" broke off after ${replayed.length}.`, replayed, { cause });
    }
    return { replayed, gone };
  }

  /** Throws dead letters away, by their ids among the dead letters; answers how many there were. */
  async remove(ids: EntryId | readonly EntryId[]): Promise<number> {
    const all = typeof ids === 'string' ? [checkId('ids', ids)] : checkIds('ids', ids);
    await this.store.ready(this.waitMs);
    let removed = 0;
    for (let at = 0; at < all.length; at += MAX_PAGE) {
      removed += await this.store.removeDeadLetters(this.stream.name, all.slice(at, at + MAX_PAGE));
    }
    return removed;
  }

  /** Throws all of them away, or all of one group; answers how many there were. Those that come in meanwhile may be among them. */
  async purge(options: OfGroup = {}): Promise<number> {
    checkKeys('deadLetters.purge', options, ['group']);
    const group = checkGroup(options.group);
    let removed = 0;
    for await (const page of this.pages(null, SCAN_PAGE)) {
      const ids = page.filter((letter) => group === null || letter.group === group).map(({ id }) => id);
      if (ids.length > 0) removed += await this.store.removeDeadLetters(this.stream.name, ids);
    }
    return removed;
  }

  private letter(entry: DeadLetterEntry): DeadLetter {
    return new DeadLetter(this.stream.name, entry, this.stream.codec);
  }

  private async *pages(after: EntryId | null, count: number): AsyncGenerator<readonly DeadLetter[]> {
    await this.store.ready(this.waitMs);
    let behind = after;
    for (;;) {
      const page = await this.store.deadLetters(this.stream.name, { after: behind, count });
      yield page.map((entry) => this.letter(entry));
      const last = page.at(-1);
      if (last === undefined || page.length < count) return;
      behind = last.id;
    }
  }

  private async *scan(group: string | null, after: EntryId | null, count = SCAN_PAGE): AsyncGenerator<DeadLetter> {
    for await (const page of this.pages(after, count)) {
      for (const letter of page) if (group === null || letter.group === group) yield letter;
    }
  }

  /** The group's, among as many as there are now: one that fails again at once comes back behind them, and is not tried twice. */
  private async *idsOf(group: string | null): AsyncGenerator<EntryId> {
    let left = await this.store.countDeadLetters(this.stream.name);
    if (left === 0) return;
    for await (const letter of this.scan(null, null)) {
      if (group === null || letter.group === group) yield letter.id;
      left -= 1;
      if (left === 0) return;
    }
  }

  /** The given ones that are the group's; `null` for one that is not there. */
  private async *among(ids: readonly EntryId[], group: string | null): AsyncGenerator<EntryId | null> {
    for (const id of ids) {
      if (group === null) yield id;
      else {
        const letter = await this.get(id);
        if (letter === null) yield null;
        else if (letter.group === group) yield id;
      }
    }
  }
}

const checkGroup = (group: string | undefined): string | null => (group === undefined ? null : named('group', group, checkGroupName));

function checkId(option: string, id: unknown): EntryId {
  if (typeof id === 'string' && /^\d{1,20}-\d{1,20}$/.test(id)) return id;
  throw new OptionError(option, `must be the id of a dead letter such as '1700000000000-0', not ${show(id)}`);
}

function checkIds(option: string, ids: unknown): readonly EntryId[] {
  if (!Array.isArray(ids)) throw new OptionError(option, `must be an array of ids, not ${show(ids)}`);
  return ids.map((id) => checkId(option, id));
}
