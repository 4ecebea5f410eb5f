import { isUtf8 } from 'node:buffer';
import { BodyError } from '../rillkit.errors.js';
import type { Codec } from './codec.js';
import { bodyCodec } from './codec-body.js';
import { jsonFlaw } from './json-flaw.js';

/**
 * The default codec: the body as JSON text in the field `body`. Strict: what JSON would change without a word (NaN, a Map, a function, a
 * promise that nobody awaited, …) is refused on publish. Dates and everything with a `toJSON` are as usual, and a property that is
 * `undefined` is left out as usual.
 */
export const json: Codec = bodyCodec('json', write, read);

function write(body: unknown): Buffer {
  let text: string | undefined;
  let flaw: string | null;
  try {
    // First, since it finds cycles and BigInts by itself: what it lets through is a tree that the search below can walk.
    text = JSON.stringify(body);
    flaw = jsonFlaw(body);
  } catch (cause) {
    throw new BodyError(`The body cannot be written as JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  if (text === undefined || flaw !== null) throw new BodyError(`The body cannot be written as JSON: ${flaw ?? 'it has no value'}.`);
  return Buffer.from(text);
}

function read(body: Buffer): unknown {
  // toString() would put a replacement character where bytes are wrong, and the handler would get what nobody sent.
  if (!isUtf8(body)) throw new BodyError('The field "body" is not UTF-8.');
  try {
    return JSON.parse(body.toString());
  } catch {
    // Without the cause, whose text quotes the body, and would carry it into logs.
    throw new BodyError('The field "body" is not JSON.');
  }
}
