import { BodyError } from '../rillkit.errors.js';
import type { EntryId, Fields } from '../store/stream-store.js';
import type { Envelope } from './codec.js';

/** Fields whose names begin so are the library's own; no codec writes them. */
export const OWN_PREFIX = 'rillkit:';

const REPLAYED_FOR = 'rillkit:for';
const REPLAYED_MESSAGE_ID = 'rillkit:messageId';

// Own fields stand behind the entry's own, so the search begins at the end: nothing is found in most entries, and it must cost nothing.
function ownField(fields: Fields, name: string): string | undefined {
  for (let at = fields.length - 1; at >= 0; at -= 1) {
    const field = fields[at];
    if (field !== undefined && field[0] === name) return field[1].toString();
  }
  return undefined;
}

/** The group that a replayed dead letter is for; the others ack it without running it. `undefined`: an entry like any other. */
export const replayedFor = (fields: Fields): string | undefined => ownField(fields, REPLAYED_FOR);

/** The message's id: what the publisher gave, else what it was before a replay, else the entry's id. */
export const messageIdOf = (envelope: Envelope, fields: Fields, id: EntryId): string =>
  envelope.messageId ?? ownField(fields, REPLAYED_MESSAGE_ID) ?? id;

/** `headers` from its field: a JSON object of strings. @throws BodyError for anything else. */
export function readHeaders(value: Buffer): Readonly<Record<string, string>> {
  let headers: unknown;
  try {
    headers = JSON.parse(value.toString());
  } catch {
    // Without the cause, whose text quotes the headers, and would carry them into logs.
    throw new BodyError('The field "headers" is not JSON.');
  }
  if (!areHeaders(headers)) throw new BodyError('The field "headers" must be a JSON object of strings.');
  return headers;
}

/** What a codec writes behind the body: `messageId`, and `type` and `headers` where there are any. */
export function envelopeFields(envelope: Envelope): (readonly [name: string, value: Buffer])[] {
  const fields: (readonly [name: string, value: Buffer])[] = [];
  if (envelope.messageId !== undefined) fields.push(['messageId', Buffer.from(envelope.messageId)]);
  if (envelope.type !== undefined) fields.push(['type', Buffer.from(envelope.type)]);
  if (envelope.headers !== undefined) fields.push(['headers', Buffer.from(JSON.stringify(envelope.headers))]);
  return fields;
}

/** Whether a field is the envelope's and not the body's. */
export const isEnvelopeField = (name: string): boolean => name === 'messageId' || name === 'type' || name === 'headers';

function areHeaders(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every((v) => typeof v === 'string');
}

/** Refuses what a publisher cannot mean, before anything is written. @throws BodyError */
export function checkEnvelope({ messageId, type, headers }: Envelope): void {
  if (messageId !== undefined && !isText(messageId)) throw new BodyError('messageId must be a string that is not empty.');
  if (type !== undefined && !isText(type)) throw new BodyError('type must be a string that is not empty.');
  if (headers !== undefined && !areHeaders(headers)) throw new BodyError('headers must be an object of strings.');
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
