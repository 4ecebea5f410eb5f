import type { Codec, Envelope } from '../broker/codec.js';
import { DeadLetter } from '../broker/dead-letter.js';
import type { DeadLetterReason } from '../broker/dead-letter-fields.js';
import { messageIdOf } from '../broker/envelope.js';
import type { Stream } from '../broker/stream.js';
import type { Outcome } from '../rillkit.events.js';
import type { DeadLetterEntry, EntryId, Fields } from '../store/stream-store.js';

/** A message as it is kept. */
export interface PublishedMessage {
  /** The entry's id in the stream. */
  readonly id: EntryId;
  readonly messageId: string;
  /** As it was published: a schema has not seen it. `undefined` where the codec cannot read it. */
  readonly body: unknown;
  readonly type: string | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** One attempt at a message that has ended. */
export interface HandledMessage extends Omit<PublishedMessage, 'type' | 'headers'> {
  readonly group: string;
  readonly attempt: number;
  /** `acked` and `dead` end the message; `retried` and `released` let it run again. */
  readonly outcome: Outcome;
  /** What the handler threw; `undefined` where it did not. */
  readonly error: unknown;
}

/** A message that was given up. */
export interface DeadMessage extends Omit<PublishedMessage, 'type' | 'headers'> {
  /** The entry's id in the stream it came from. */
  readonly entry: EntryId | null;
  readonly group: string | null;
  readonly reason: DeadLetterReason | (string & {}) | null;
  readonly attempts: number | null;
  readonly errorName: string | null;
  readonly errorMessage: string | null;
}

/** An attempt as it was noted when it ended; its fields were read then, since they may be trimmed away later. */
export interface Noted extends Omit<HandledMessage, 'messageId' | 'body'> {
  readonly stream: string;
  readonly fields: Fields;
}

export function publishedOf({ codec }: Stream, { id, fields }: { readonly id: EntryId; readonly fields: Fields }): PublishedMessage {
  const envelope = read(codec, fields);
  const { body, type, headers } = envelope;
  return { id, messageId: messageIdOf(envelope, fields, id), body, type, headers };
}

export function handledOf(stream: Stream, { id, group, attempt, outcome, error, fields }: Noted): HandledMessage {
  const { messageId, body } = publishedOf(stream, { id, fields });
  return { id, messageId, body, group, attempt, outcome, error };
}

export function deadOf(stream: Stream, entry: DeadLetterEntry): DeadMessage {
  const letter = new DeadLetter(stream.name, entry, stream.codec);
  const { id, group, reason, attempts, errorName, errorMessage } = letter;
  const envelope = read(stream.codec, letter.fields);
  const messageId = messageIdOf(envelope, entry.fields, letter.entry ?? id);
  return { id, entry: letter.entry, messageId, body: envelope.body, group, reason, attempts, errorName, errorMessage };
}

/** What cannot be read is shown without a body: that may be what the test is about. */
function read(codec: Codec, fields: Fields): Envelope {
  try {
    return codec.decode(fields);
  } catch {
    return { body: undefined };
  }
}
