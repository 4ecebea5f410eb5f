import type { DeadLetterEntry, EntryId, Fields, StreamStore } from '../stream-store.js';
import { copyOf } from './copy.js';
import { entriesOf } from './entries.js';
import { readId } from './entry-ids.js';
import { noFields } from './faults.js';
import type { Keyspace } from './keyspace.js';

/** Messages that were given up. */
export function deadLetters(data: Keyspace, stream: string, options: Parameters<StreamStore['deadLetters']>[1]): DeadLetterEntry[] {
  const { after, count } = options;
  return entriesOf(data, data.keys.deadLetters(stream), { count, ...(after === null ? {} : { after: readId(after) }) });
}

export function deadLetter(data: Keyspace, stream: string, id: EntryId): DeadLetterEntry | null {
  return entriesOf(data, data.keys.deadLetters(stream), { from: readId(id), to: readId(id, 'last'), count: 1 })[0] ?? null;
}

export function removeDeadLetters(data: Keyspace, stream: string, ids: readonly EntryId[]): number {
  return data.stream(data.keys.deadLetters(stream))?.delete(ids.map((id) => readId(id))) ?? 0;
}

/** Puts a dead letter back into its stream, then removes it. */
export function replay(data: Keyspace, stream: string, id: EntryId, nowMs: number): Awaited<ReturnType<StreamStore['replay']>> {
  const letter = deadLetter(data, stream, id);
  if (!letter) return { is: 'gone' };
  const fields = replayed(letter.fields);
  if (fields.length === 0) throw noFields();
  const entry = data.grow(data.keys.stream(stream)).append(copyOf(fields), nowMs);
  removeDeadLetters(data, stream, [id]);
  return { is: 'replayed', id: entry };
}

/**
 * The entry's own fields as they were, and two of the library's: the group that failed, so that others pass over it, and the name that the
 * message had, where its publisher gave none.
 */
function replayed(fields: Fields): Fields {
  const own = fields.filter(([name]) => !name.startsWith('rillkit:'));
  const find = (wanted: string): readonly Buffer[] => fields.filter(([name]) => name === wanted).map(([, value]) => value);
  const group = find('rillkit:group').at(-1);
  const messageId = find('rillkit:messageId')[0] ?? find('rillkit:entry').at(-1);
  const isNamed = own.some(([name]) => name === 'messageId');
  return [
    ...own,
    ...(group ? [['rillkit:for', group] as const] : []),
    ...(messageId && !isNamed ? [['rillkit:messageId', messageId] as const] : []),
  ];
}
