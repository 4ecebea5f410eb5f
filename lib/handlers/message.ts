import { MAX_TIMER_MS, wholeMs } from '../option-checks.js';
import type { EntryId } from '../store/stream-store.js';

/** What a handler decided about its message. */
export type Decision =
  | { readonly is: 'ack' }
  | { readonly is: 'nack'; readonly delayMs?: number | undefined }
  | { readonly is: 'release'; readonly delayMs?: number | undefined }
  | { readonly is: 'reject'; readonly reason: string };

/** Everything about a message but how it is decided. */
export interface MessageInit<T> {
  readonly id: EntryId;
  readonly messageId: string;
  readonly type: string | undefined;
  readonly body: T;
  readonly headers: Readonly<Record<string, string>>;
  readonly number: number;
  readonly stream: string;
  readonly group: string;
  readonly worker: string;
}

/** The side of a delivery that its message talks to. */
export interface Decidable {
  /** Made when first asked for: a controller for each message would cost more than the rest of its way. */
  readonly signal: AbortSignal;
  decide(decision: Decision): void;
}

/** The number counts attempts in its ones and hand-backs in its thousands; it only rises. */
export const NUMBER_BASE = 1_000;
export const attemptOf = (number: number): number => number % NUMBER_BASE;
export const handBacksOf = (number: number): number => Math.floor(number / NUMBER_BASE);

/** Milliseconds since 1970 from an entry's id. */
export const timeOf = (id: EntryId): number => Number(id.slice(0, id.indexOf('-')));

/** A message as its handler sees it. The first decision wins; without one, returning acks and throwing retries. */
export class Message<T = unknown> implements MessageInit<T> {
  /** The entry's id in the stream; another one after a replay. */
  readonly id: EntryId;
  /** Given by the publisher or made at publishing; stays the same when a publish is sent again or a dead letter replayed. */
  readonly messageId: string;
  readonly type: string | undefined;
  readonly body: T;
  readonly headers: Readonly<Record<string, string>>;
  /** Redis's delivery counter: attempts in its ones, hand-backs in its thousands. */
  readonly number: number;
  readonly stream: string;
  readonly group: string;
  readonly worker: string;

  constructor(
    init: MessageInit<T>,
    private readonly delivery: Decidable,
  ) {
    this.id = init.id;
    this.messageId = init.messageId;
    this.type = init.type;
    this.body = init.body;
    this.headers = init.headers;
    this.number = init.number;
    this.stream = init.stream;
    this.group = init.group;
    this.worker = init.worker;
  }

  /** Which attempt this is, from 1. */
  get attempt(): number {
    return attemptOf(this.number);
  }

  /** How often the message was handed to a worker: attempts and hand-backs. */
  get deliveries(): number {
    return attemptOf(this.number) + handBacksOf(this.number);
  }

  get publishedAt(): Date {
    return new Date(timeOf(this.id));
  }

  /**
   * Rises, compared as text, over the attempts, hand-backs and replays of a message in one group: keep the last one seen beside what the
   * handler writes, and write only `WHERE fence < $1`, so that a late handler cannot undo a later one's work.
   */
  get fence(): string {
    const [ms = '', sequence = ''] = this.id.split('-');
    return `${ms.padStart(15, '0')}-${sequence.padStart(20, '0')}-${String(this.number).padStart(10, '0')}`;
  }

  /** Aborts on `timeoutMs`, a lost lease, or the end of the shutdown's grace; its `reason` says which. */
  get signal(): AbortSignal {
    return this.delivery.signal;
  }

  /** Handled, whatever the handler does afterwards. */
  ack(): void {
    this.delivery.decide({ is: 'ack' });
  }

  /** Failed: runs again after `delayMs` (default: by the backoff), or is given up when its retries are spent. @throws OptionError for a delay that is no whole number of milliseconds, 0 or more. */
  nack(options: { readonly delayMs?: number | undefined } = {}): void {
    this.delivery.decide({ is: 'nack', delayMs: checkDelay('nack', options.delayMs) });
  }

  /** Handed back, to run again after `delayMs` (default 0), here or elsewhere. Spends no attempt, up to `maxHandBacks`. @throws OptionError as {@link nack}. */
  release(options: { readonly delayMs?: number | undefined } = {}): void {
    this.delivery.decide({ is: 'release', delayMs: checkDelay('release', options.delayMs) });
  }

  /** Given up at once: goes to the dead letters. */
  reject(reason: string): void {
    this.delivery.decide({ is: 'reject', reason });
  }
}

/** Thrown by a handler: to the dead letters at once, as {@link Message.reject}. */
export class RejectMessage extends Error {
  override readonly name = 'RejectMessage';
}

/** Thrown by a handler: again after `delayMs`, as {@link Message.nack}. */
export class RetryMessage extends Error {
  override readonly name = 'RetryMessage';

  constructor(
    message = 'The handler asked for a retry.',
    /** Milliseconds; by the backoff where it is absent. */
    readonly delayMs?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
    checkDelay('RetryMessage', delayMs);
  }
}

const checkDelay = (from: string, delayMs: number | undefined): number | undefined =>
  delayMs === undefined ? undefined : wholeMs(`${from}.delayMs`, delayMs, { min: 0, max: MAX_TIMER_MS });
