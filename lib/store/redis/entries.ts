import type { Clock } from '../../clock.js';
import { isStoreFault } from '../../rillkit.errors.js';
import type { Delivered, EntryId, Fields, GroupStart, PendingEntry, Place, StreamStore, Taken, Trim } from '../stream-store.js';
import type { Argument, Connection } from './connection.js';
import { unavailable } from './errors.js';
import type { Keys } from './keys.js';
import { entriesOf, idOf, idsOf, infoOf, listOf, numberOrNullOf, pendingOf, readOf, takenOf, textOf } from './replies.js';
import { take } from './scripts/take.js';

export const partsOf = (fields: Fields): Argument[] => {
  const parts: Argument[] = [];
  for (const [name, value] of fields) parts.push(name, value);
  return parts;
};

export const trimOf = (trim: Trim | undefined): Argument[] => (trim ? ['MAXLEN', trim.approximate ? '~' : '=', trim.maxLen] : []);

/** Messages on their way in, and out to workers. */
export class Entries {
  constructor(
    private readonly commands: Connection,
    private readonly keys: Keys,
    private readonly clock: Clock,
  ) {}

  async append(stream: string, fields: Fields, { trim, waitMs }: Parameters<StreamStore['append']>[2]): Promise<EntryId> {
    const since = this.clock.monotonicMs();
    const isReady = await this.commands.ready(waitMs);
    const leftMs = waitMs - (this.clock.monotonicMs() - since);
    if (!isReady || leftMs <= 0) throw unavailable('no', `there was no connection within ${waitMs} ms`);
    const sent = this.commands.call('XADD', this.keys.stream(stream), ...trimOf(trim), '*', ...partsOf(fields));
    return idOf(await this.within(leftMs, waitMs, sent));
  }

  async ensureGroup({ stream, group }: Place, from: GroupStart): Promise<'created' | 'existed'> {
    const key = this.keys.stream(stream);
    const start = from === 'beginning' ? '0' : from === 'new' ? '$' : from.after;
    try {
      await this.commands.call('XGROUP', 'CREATE', key, group, start, 'MKSTREAM');
      return 'created';
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('BUSYGROUP')) return 'existed';
      // Out of memory, the server refuses before it looks: a group that is there already needs no memory.
      if (isStoreFault(error, 'outOfMemory') && (await this.hasGroup(key, group))) return 'existed';
      throw error;
    }
  }

  async hasEntry(stream: string, id: EntryId): Promise<boolean> {
    return entriesOf(await this.commands.call('XRANGE', this.keys.stream(stream), id, id)).length > 0;
  }

  async read({ stream, group }: Place, worker: string, count: number): Promise<readonly Delivered[]> {
    const key = this.keys.stream(stream);
    const reply = await this.commands.call('XREADGROUP', 'GROUP', group, worker, 'COUNT', count, 'STREAMS', key, '>');
    return readOf(reply)[0]?.messages ?? [];
  }

  async take(place: Place, worker: string, count: number): Promise<Taken> {
    const keys = [this.keys.stream(place.stream), this.keys.parked(place)];
    const [taken, lost, due] = listOf(await this.commands.run(take, keys, [place.group, worker, count]));
    return { messages: takenOf(taken), lost: idsOf(lost), nextDueMs: numberOrNullOf(due) };
  }

  async pendingOf({ stream, group }: Place, worker: string, after: EntryId | null, count: number): Promise<readonly PendingEntry[]> {
    const from = after === null ? '-' : `(${after}`;
    return pendingOf(await this.commands.call('XPENDING', this.keys.stream(stream), group, from, '+', count, worker));
  }

  private async hasGroup(key: string, group: string): Promise<boolean> {
    const groups = listOf(await this.commands.call('XINFO', 'GROUPS', key));
    return groups.some((one) => textOf(infoOf(one).get('name')) === group);
  }

  /** The answer, or after `leftMs` the error that it may come yet. */
  private within<T>(leftMs: number, waitMs: number, answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = this.clock.after(leftMs, () => reject(unavailable('unknown', `there was no answer within ${waitMs} ms`)));
      answer.finally(cancel).then(resolve, reject);
    });
  }
}
