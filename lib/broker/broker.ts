import type { Redis } from 'ioredis';
import type { Clock } from '../clock.js';
import { checkKeys, show } from '../option-checks.js';
import { OptionError } from '../rillkit.errors.js';
import type { RillkitEvents } from '../rillkit.events.js';
import type { ResolvedOptions } from '../rillkit.options.js';
import type { EntryId, Place, StreamStats, StreamStore } from '../store/stream-store.js';
import { DeadLetters, type Replayed, type ReplayOptions } from './dead-letters.js';
import { inspect, type Inspection } from './inspection.js';
import { placeOf, toStream, type StreamOrName } from './place.js';
import { Publisher, type ManyItem, type PublishAnswer, type Published, type PublishOptions, type TrimOptions } from './publisher.js';
import type { Stream } from './stream.js';

export interface BrokerDeps {
  readonly store: StreamStore;
  readonly clock: Clock;
  readonly events: RillkitEvents;
  readonly options: Pick<ResolvedOptions, 'group' | 'publishTimeoutMs'>;
  /** Answers the client that commands go through, or throws where there is none. */
  readonly client: () => Redis;
}

export interface GroupOption {
  /** @default the stream's, else the module's */
  readonly group?: string | undefined;
}

/** How many messages of one `publishMany` are under way at a time: bounds the memory that they take. */
const MANY_AT_ONCE = 500;
/** Streams that are remembered as told of; a program that makes up names without end is not told of each. */
const MAX_TOLD = 1_000;

/** Publishes, and answers questions. Injected by its class; for scripts see `createBroker()`. */
export class Broker {
  private readonly publisher: Publisher;
  private readonly toldUnbounded = new Set<string>();

  constructor(private readonly deps: BrokerDeps) {
    this.publisher = new Publisher({ ...deps, publishTimeoutMs: deps.options.publishTimeoutMs });
  }

  /**
   * Adds a message to a stream. The body is checked by the stream's schema, and stored as given. Never sent twice from here: who sends it
   * again, after a {@link PublishError} whose `stored` is `unknown`, gives the same `messageId`.
   *
   * @throws BodyError for a body that cannot be carried; SchemaError for one that does not fit; OptionError for an option. Nothing was written then.
   * @throws PublishError where it was not confirmed within `publishTimeoutMs`, or was refused by the server.
   */
  publish<Out, In>(stream: Stream<Out, In>, body: NoInfer<In>, options?: PublishOptions): Promise<Published>;
  publish(stream: string, body: unknown, options?: PublishOptions): Promise<Published>;
  async publish(stream: StreamOrName, body: unknown, options?: PublishOptions): Promise<Published> {
    const to = this.bounded(stream);
    return this.publisher.publish(to, body, options);
  }

  /**
   * Adds many messages, in their order, without waiting for one before the next is sent. Answers one by one, in the same order: a message
   * that fails does not fail the others. Not atomic.
   *
   * @throws OptionError for an option; nothing was written then.
   */
  publishMany<Out, In>(
    stream: Stream<Out, In>,
    messages: readonly ManyItem<NoInfer<In>>[],
    options?: TrimOptions,
  ): Promise<readonly PublishAnswer[]>;
  publishMany(stream: string, messages: readonly ManyItem<unknown>[], options?: TrimOptions): Promise<readonly PublishAnswer[]>;
  async publishMany(
    stream: StreamOrName,
    messages: readonly ManyItem<unknown>[],
    options: TrimOptions = {},
  ): Promise<readonly PublishAnswer[]> {
    const to = this.bounded(stream);
    const trim = this.publisher.trimOf(to, options);
    if (!Array.isArray(messages)) throw new OptionError('messages', `must be an array, not ${show(messages)}`);
    const answers: PublishAnswer[] = [];
    for (let at = 0; at < messages.length; at += MANY_AT_ONCE) {
      const chunk = messages.slice(at, at + MANY_AT_ONCE);
      answers.push(...(await Promise.all(chunk.map((message) => this.publisher.answer(to, message, trim)))));
    }
    return answers;
  }

  /** Names of the group's workers with a live lease, sorted; idle ones too. */
  async activeWorkers(stream: StreamOrName, options: GroupOption = {}): Promise<readonly string[]> {
    const place = this.place('activeWorkers', stream, options);
    await this.ready();
    return this.deps.store.workers(place);
  }

  /** Length, undelivered, pending, age of the oldest pending, parked, dead letters. What is not known is `null`, never 0. */
  async stats(stream: StreamOrName, options: GroupOption = {}): Promise<StreamStats> {
    const place = this.place('stats', stream, options);
    await this.ready();
    return this.deps.store.stats(place);
  }

  /** Where one message is, by its entry's id: waiting, running by whom, parked until when, dead, settled, gone. */
  async inspect(stream: StreamOrName, id: EntryId, options: GroupOption = {}): Promise<Inspection> {
    if (!/^\d{1,20}-\d{1,20}$/.test(id)) throw new OptionError('id', `must be an entry id such as '1700000000000-0', not ${show(id)}`);
    const place = this.place('inspect', stream, options);
    await this.ready();
    return inspect(this.deps.store, this.deadLetters(stream), place, id);
  }

  /** The desk of a stream's dead letters: list, get, count, replay, remove, purge. */
  deadLetters(stream: StreamOrName): DeadLetters {
    return new DeadLetters(this.deps.store, toStream(stream), this.deps.options.publishTimeoutMs);
  }

  /** Puts dead letters back into their stream, oldest first, for the group that gave them up. The same as `deadLetters(S).replay()`. */
  async replayDlq(stream: StreamOrName, options?: ReplayOptions): Promise<Replayed> {
    return this.deadLetters(stream).replay(options);
  }

  /** The ioredis client that the library's own commands go through; the same object over reconnects. It has no offline queue. */
  get client(): Redis {
    return this.deps.client();
  }

  /** Tells once, by the event `unboundedStream`, of a stream that nothing limits. A publish does so by itself. */
  tellUnbounded(stream: Stream): void {
    if (stream.trim !== null || this.toldUnbounded.has(stream.name) || this.toldUnbounded.size >= MAX_TOLD) return;
    this.toldUnbounded.add(stream.name);
    this.deps.events.emit({ type: 'unboundedStream', stream: stream.name });
  }

  /** Questions wait for a connection just as publishes do; without one the store says so itself. */
  private ready(): Promise<boolean> {
    return this.deps.store.ready(this.deps.options.publishTimeoutMs);
  }

  /** A bare name says nothing of limits, so that only streams are told of. */
  private bounded(stream: StreamOrName): Stream {
    if (typeof stream !== 'string') this.tellUnbounded(stream);
    return toStream(stream);
  }

  private place(question: string, stream: StreamOrName, options: GroupOption): Place {
    checkKeys(question, options, ['group']);
    return placeOf(toStream(stream), options.group, this.deps.options.group);
  }
}
