import { StoreError } from '../../rillkit.errors.js';
import type { Delivered, EntryId, Fields, PendingEntry } from '../stream-store.js';

/**
 * What Redis answers, made into what we mean: the one place that looks into replies. Everything is asked for as bytes, since values need
 * not be text; names and ids are made text here. A reply of an unexpected shape throws: a server of another kind, or a bug of ours.
 */
export type Reply = unknown;

const unexpected = (what: string, reply: Reply): StoreError =>
  new StoreError(`Redis answered something that is not ${what}: ${reply === null ? 'null' : typeof reply}`, 'refused', 'unknown');

export function listOf(reply: Reply): readonly Reply[] {
  if (Array.isArray(reply)) return reply;
  throw unexpected('a list', reply);
}

/** Text that is ASCII by its nature: ids, codes. */
function asciiOf(reply: Reply): string {
  if (Buffer.isBuffer(reply)) return reply.toString('latin1');
  throw unexpected('text', reply);
}

export function textOf(reply: Reply): string {
  if (Buffer.isBuffer(reply)) return reply.toString('utf8');
  if (typeof reply === 'string') return reply;
  throw unexpected('text', reply);
}

export function numberOf(reply: Reply): number {
  if (typeof reply === 'number') return reply;
  const value = Buffer.isBuffer(reply) ? Number(reply.toString('latin1')) : Number.NaN;
  if (Number.isNaN(value)) throw unexpected('a number', reply);
  return value;
}

export const numberOrNullOf = (reply: Reply): number | null => (reply === null || reply === undefined ? null : numberOf(reply));

export const idOf = (reply: Reply): EntryId => asciiOf(reply);
export const idsOf = (reply: Reply): readonly EntryId[] => listOf(reply).map(idOf);
export const textsOf = (reply: Reply): readonly string[] => listOf(reply).map(textOf);

const BODY = 0x62_6f_64_79;
const TYPE = 0x74_79_70_65;
const MESS = 0x6d_65_73_73;
const AGEI = 0x61_67_65_49;
const D = 0x64;

/** The names that nearly every entry has are told by their bytes: making text of them anew would cost more than the rest of the entry. */
function nameOf(reply: Reply): string {
  if (!Buffer.isBuffer(reply)) throw unexpected('a field name', reply);
  if (reply.length === 4) {
    const word = reply.readUInt32BE(0);
    if (word === BODY) return 'body';
    if (word === TYPE) return 'type';
  } else if (reply.length === 9 && reply.readUInt32BE(0) === MESS && reply.readUInt32BE(4) === AGEI && reply[8] === D) {
    return 'messageId';
  }
  return reply.toString('utf8');
}

export function fieldsOf(reply: Reply): Fields {
  const parts = listOf(reply);
  const fields: [string, Buffer][] = [];
  for (let i = 0; i < parts.length; i += 2) {
    const value = parts[i + 1];
    if (!Buffer.isBuffer(value)) throw unexpected('a field value', value);
    fields.push([nameOf(parts[i]), value]);
  }
  return fields;
}

/** Entries as XRANGE answers them. */
export const entriesOf = (reply: Reply): readonly { readonly id: EntryId; readonly fields: Fields }[] =>
  listOf(reply).map((entry) => {
    const [id, fields] = listOf(entry);
    return { id: asciiOf(id), fields: fieldsOf(fields) };
  });

/** What XREADGROUP answers: streams' keys with their new entries, which are delivered for the first time; nothing at all when the wait was in vain. */
export function readOf(reply: Reply): readonly { readonly key: string; readonly messages: readonly Delivered[] }[] {
  if (reply === null) return [];
  return listOf(reply).map((one) => {
    const [key, entries] = listOf(one);
    const messages: Delivered[] = [];
    for (const entry of listOf(entries)) {
      const [id, fields] = listOf(entry);
      messages.push({ id: asciiOf(id), number: 1, fields: fieldsOf(fields) });
    }
    return { key: textOf(key), messages };
  });
}

/** Messages as `take` answers them, each with its number. */
export const takenOf = (reply: Reply): readonly Delivered[] =>
  listOf(reply).map((one) => {
    const [id, number, fields] = listOf(one);
    return { id: asciiOf(id), number: numberOf(number), fields: fieldsOf(fields) };
  });

/** XPENDING with a range: id, consumer, idle time, number. */
export const pendingOf = (reply: Reply): readonly PendingEntry[] =>
  listOf(reply).map((one) => {
    const [id, , , number] = listOf(one);
    return { id: asciiOf(id), number: numberOf(number) };
  });

/** XPENDING without a range: how many, and the first of them. */
export function pendingSummaryOf(reply: Reply): { readonly count: number; readonly first: EntryId | null } {
  const [count, first] = listOf(reply);
  return { count: numberOf(count), first: first === null ? null : asciiOf(first) };
}

/** Names and values one after the other, as XINFO answers them. */
export function infoOf(reply: Reply): ReadonlyMap<string, Reply> {
  const parts = listOf(reply);
  const info = new Map<string, Reply>();
  for (let i = 0; i < parts.length; i += 2) info.set(textOf(parts[i]), parts[i + 1]);
  return info;
}

/** Members with their scores. */
export function scoresOf(reply: Reply): readonly { readonly member: string; readonly score: number }[] {
  const parts = listOf(reply);
  const rows = [];
  for (let i = 0; i < parts.length; i += 2) rows.push({ member: textOf(parts[i]), score: scoreOf(parts[i + 1]) });
  return rows;
}

const scoreOf = (reply: Reply): number => {
  const text = textOf(reply);
  return text === 'inf' ? Number.POSITIVE_INFINITY : Number(text);
};

/** TIME: seconds and microseconds. */
export function timeOf(reply: Reply): number {
  const [seconds, micros] = listOf(reply);
  return numberOf(seconds) * 1000 + Math.floor(numberOf(micros) / 1000);
}

/** One of the words that a script answers. */
export function wordOf<Word extends string>(reply: Reply, ...words: readonly Word[]): Word {
  const text = textOf(reply);
  for (const word of words) if (word === text) return word;
  throw unexpected(`one of ${words.join(', ')}`, reply);
}
