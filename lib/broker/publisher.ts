import type { Clock } from '../clock.js';
import { checkKeys, flag, whole } from '../option-checks.js';
import { BodyError, PublishError, StoreError, isStoreFault } from '../rillkit.errors.js';
import type { RillkitEvents } from '../rillkit.events.js';
import type { EntryId, Fields, StreamStore, Trim } from '../store/stream-store.js';
import type { Envelope } from './codec.js';
import { checkEnvelope, isEnvelopeField } from './envelope.js';
import { newMessageId } from './message-id.js';
import { validate } from './schema.js';
import type { Stream } from './stream.js';

/** What a publisher may say of one message. */
export interface MessageOptions {
  /** Stays with the message; who sends it again gives the same. @default a new UUID, version 7 */
  readonly messageId?: string | undefined;
  readonly type?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** How the stream is trimmed by a publish. */
export interface TrimOptions {
  /** @default the stream's */
  readonly maxLen?: number | undefined;
  /** @default the stream's */
  readonly approximate?: boolean | undefined;
}

export interface PublishOptions extends MessageOptions, TrimOptions {}

export interface Published {
  /** The entry's id in the stream. */
  readonly id: EntryId;
  readonly messageId: string;
}

/** One message of many. */
export interface ManyItem<In> extends MessageOptions {
  readonly body: In;
}

export type PublishAnswer = ({ readonly ok: true } & Published) | { readonly ok: false; readonly error: unknown };

const TRIM_KEYS = ['maxLen', 'approximate'];
const MESSAGE_KEYS = ['messageId', 'type', 'headers'];

/** Checks, encodes and appends. Nothing is written unless all of a message is in order, and nothing is ever sent again from here. */
export class Publisher {
  constructor(
    private readonly deps: {
      readonly store: Pick<StreamStore, 'append'>;
      readonly clock: Pick<Clock, 'wallMs'>;
      readonly events: RillkitEvents;
      readonly publishTimeoutMs: number;
    },
  ) {}

  /** How a publish trims, by its own options and the stream's. @throws OptionError */
  trimOf(stream: Stream, options: TrimOptions, known: readonly string[] = TRIM_KEYS): Trim | undefined {
    checkKeys('publish', options, known);
    const { maxLen = stream.trim?.maxLen, approximate = stream.options.approximate ?? true } = options;
    if (options.approximate !== undefined) flag('publish.approximate', approximate);
    if (maxLen === undefined) return undefined;
    return { maxLen: whole('publish.maxLen', maxLen, { min: 1, max: Number.MAX_SAFE_INTEGER }), approximate };
  }

  async publish(stream: Stream, body: unknown, options: PublishOptions = {}): Promise<Published> {
    return this.told(stream, async () => {
      const trim = this.trimOf(stream, options, [...MESSAGE_KEYS, ...TRIM_KEYS]);
      return this.send(stream, body, options, trim);
    });
  }

  /** One message of many; never rejects. */
  async answer(stream: Stream, item: ManyItem<unknown>, trim: Trim | undefined): Promise<PublishAnswer> {
    try {
      const published = await this.told(stream, async () => {
        checkKeys('publishMany', item, ['body', ...MESSAGE_KEYS]);
        return this.send(stream, item.body, item, trim);
      });
      return { ok: true, ...published };
    } catch (error) {
      return { ok: false, error };
    }
  }

  private async told(stream: Stream, publish: () => Promise<Published>): Promise<Published> {
    try {
      const published = await publish();
      this.deps.events.emit({ type: 'published', stream: stream.name, count: 1 });
      return published;
    } catch (error) {
      this.deps.events.emit({ type: 'publishFailed', stream: stream.name, error });
      throw error;
    }
  }

  private async send(stream: Stream, body: unknown, { messageId, type, headers }: MessageOptions, trim?: Trim): Promise<Published> {
    const envelope = { body, messageId: messageId ?? newMessageId(this.deps.clock.wallMs()), type, headers };
    checkEnvelope(envelope);
    if (stream.schema !== null) {
      // Awaited only where it must be: what is published in one turn is stored in that order, and as it was then.
      const checked = validate(stream.schema, body, stream.name);
      if (checked instanceof Promise) await checked;
    }
    const fields = encode(stream, envelope);
    const id = await this.append(stream, fields, envelope.messageId, trim);
    return { id, messageId: envelope.messageId };
  }

  private async append(stream: Stream, fields: Fields, messageId: string, trim?: Trim): Promise<EntryId> {
    try {
      return await this.deps.store.append(stream.name, fields, { trim, waitMs: this.deps.publishTimeoutMs });
    } catch (error) {
      throw publishError(stream.name, messageId, error);
    }
  }
}

function encode(stream: Stream, envelope: Envelope): Fields {
  const fields = encoded(stream, envelope);
  const { maxBytes } = stream.options;
  if (maxBytes === undefined) return fields;
  const bytes = fields.reduce((sum, [name, value]) => (isEnvelopeField(name) ? sum : sum + value.length), 0);
  if (bytes > maxBytes) throw new BodyError(`The body is ${bytes} bytes long; the stream "${stream.name}" takes at most ${maxBytes}.`);
  return fields;
}

function encoded(stream: Stream, envelope: Envelope): Fields {
  try {
    return stream.codec.encode(envelope);
  } catch (cause) {
    if (cause instanceof BodyError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BodyError(`The body cannot be carried by the codec ${stream.codec.name}: ${why}`, { cause });
  }
}

function publishError(stream: string, messageId: string, cause: unknown): PublishError {
  const why = cause instanceof Error ? cause.message : String(cause);
  // An answer of the server's, whatever it says, is a refusal. Only without an answer can nobody know.
  const answered = cause instanceof StoreError && !isStoreFault(cause, 'unavailable', 'interrupted');
  const stored = answered || (cause instanceof StoreError && cause.applied === 'no') ? 'no' : 'unknown';
  const advice = stored === 'no' ? 'Nothing was stored.' : 'It may be stored nevertheless: to send it again, give the same messageId.';
  return new PublishError(`The publish to "${stream}" was not confirmed: ${why} ${advice}`, stored, messageId, { cause });
}
