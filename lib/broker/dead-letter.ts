import { timeOf } from '../handlers/message.js';
import type { DeadLetterEntry, EntryId, Fields } from '../store/stream-store.js';
import type { Codec, Envelope } from './codec.js';
import { messageIdOf, OWN_PREFIX } from './envelope.js';
import type { DeadLetterReason } from './dead-letter-fields.js';

/** A message that was given up. What another program wrote into the dead letters says less: what it does not say is `null`. */
export class DeadLetter {
  /** Its id among the dead letters. */
  readonly id: EntryId;
  readonly stream: string;
  /** Its entry's id in the stream it came from. */
  readonly entry: EntryId | null;
  /** The group that gave it up. */
  readonly group: string | null;
  readonly worker: string | null;
  readonly attempts: number | null;
  /** Attempts and hand-backs. */
  readonly deliveries: number | null;
  readonly reason: DeadLetterReason | (string & {}) | null;
  readonly errorName: string | null;
  readonly errorMessage: string | null;
  /** When it was given up. */
  readonly at: Date;
  /** The entry's own fields, byte for byte. */
  readonly fields: Fields;
  private readonly all: Fields;

  constructor(
    stream: string,
    entry: DeadLetterEntry,
    private readonly codec: Codec,
  ) {
    const own = new Map(entry.fields.filter(([name]) => name.startsWith(OWN_PREFIX)).map(([name, value]) => [name, value.toString()]));
    const text = (name: string): string | null => own.get(`${OWN_PREFIX}${name}`) ?? null;
    const number = (name: string): number | null => wholeOf(text(name));
    this.id = entry.id;
    this.stream = text('stream') ?? stream;
    this.entry = text('entry');
    this.group = text('group');
    this.worker = text('worker');
    this.attempts = number('attempts');
    this.deliveries = number('deliveries');
    this.reason = text('reason');
    this.errorName = text('error');
    this.errorMessage = text('message');
    this.at = new Date(number('at') ?? timeOf(entry.id));
    this.fields = entry.fields.filter(([name]) => !name.startsWith(OWN_PREFIX));
    this.all = entry.fields;
  }

  /**
   * Its body, message id, type and headers, by the stream's codec. The body is as it was published: a schema has not seen it.
   * @throws BodyError, or what a codec of your own throws, where the fields cannot be read; they may be here for that very reason.
   */
  decode(): Envelope & { readonly messageId: string } {
    const envelope = this.codec.decode(this.fields);
    return { ...envelope, messageId: messageIdOf(envelope, this.all, this.entry ?? this.id) };
  }
}

function wholeOf(text: string | null): number | null {
  const value = text === null || text === '' ? NaN : Number(text);
  return Number.isSafeInteger(value) ? value : null;
}
