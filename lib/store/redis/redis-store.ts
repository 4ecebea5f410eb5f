import type { Redis } from 'ioredis';
import type { Clock } from '../../clock.js';
import type { RillkitEvents } from '../../rillkit.events.js';
import type { RedisConnectionOption } from '../../rillkit.options.js';
import type { BlockingReader, ConnectionState, EntryId, Fields, GroupStart, Place, Settlement, StreamStore } from '../stream-store.js';
import { redisOptionsOf } from './connection-options.js';
import { Connection, type ConnectionDeps } from './connection.js';
import { DeadLetters } from './dead-letters.js';
import { Entries } from './entries.js';
import { Keys } from './keys.js';
import { Leases } from './leases.js';
import { Nudges } from './nudges.js';
import { Questions } from './questions.js';
import { RedisReader } from './redis-reader.js';
import { Settlements } from './settlements.js';

/** How long an answer may take, other than of a blocked read, before the connection counts as dead, milliseconds. */
const ANSWER_MS = 5_000;

export interface RedisStoreParams {
  readonly connection: RedisConnectionOption;
  readonly clock: Clock;
  readonly events: RillkitEvents;
  /** The longest block of a reader, milliseconds. */
  readonly blockMs: number;
  /** Whether keys are laid out for a Cluster; see {@link Keys}. @default false */
  readonly cluster?: boolean;
}

type Call<Method extends keyof StreamStore> = StreamStore[Method] extends (...args: infer Args) => unknown ? Args : never;

/**
 * The store on Redis Streams: one connection for commands, one for each blocking reader, one for nudges. Each method is one command or one
 * script, but for the questions; what a script does and in which order stands on top of it, in `scripts/`.
 */
export class RedisStore implements StreamStore {
  readonly keys: Keys;
  private readonly deps: ConnectionDeps;
  private readonly commands: Connection;
  private readonly readers = new Set<RedisReader>();
  private readonly nudges: Nudges;
  private readonly entries: Entries;
  private readonly settlements: Settlements;
  private readonly leases: Leases;
  private readonly letters: DeadLetters;
  private readonly questions: Questions;

  /** @throws OptionError where the connection cannot be made of what was given */
  constructor(private readonly params: RedisStoreParams) {
    this.deps = { options: redisOptionsOf(params.connection), clock: params.clock, events: params.events };
    this.keys = new Keys(params.cluster ?? false);
    this.commands = new Connection(this.deps, { role: 'commands', socketTimeoutMs: ANSWER_MS });
    this.nudges = new Nudges(this.deps, this.keys);
    this.entries = new Entries(this.commands, this.keys, params.clock);
    this.settlements = new Settlements(this.commands, this.keys);
    this.leases = new Leases(this.commands, this.keys);
    this.letters = new DeadLetters(this.commands, this.keys);
    this.questions = new Questions(this.commands, this.keys);
  }

  /** ioredis's client of the command connection, one object over reconnects. It queues nothing: without a connection a command fails at once. */
  get client(): Redis {
    return this.commands.client;
  }

  get state(): ConnectionState {
    return this.commands.state;
  }

  start(): void {
    this.commands.start();
  }

  async close(): Promise<void> {
    await Promise.all([this.nudges.close(), ...[...this.readers].map((reader) => reader.close()), this.commands.close()]);
  }

  ready(waitMs: number, signal?: AbortSignal): Promise<boolean> {
    return this.commands.ready(waitMs, signal);
  }

  async ping(): Promise<void> {
    await this.commands.call('PING');
  }

  append(stream: string, fields: Fields, options: Call<'append'>[2]): Promise<EntryId> {
    return this.entries.append(stream, fields, options);
  }

  ensureGroup(place: Place, from: GroupStart): ReturnType<StreamStore['ensureGroup']> {
    return this.entries.ensureGroup(place, from);
  }

  hasEntry(stream: string, id: EntryId): Promise<boolean> {
    return this.entries.hasEntry(stream, id);
  }

  openReader(name: string): BlockingReader {
    const { blockMs } = this.params;
    const reader = new RedisReader(this.deps, this.keys, this.commands, { name, blockMs, onClose: () => this.readers.delete(reader) });
    this.readers.add(reader);
    return reader;
  }

  read(...args: Call<'read'>): ReturnType<StreamStore['read']> {
    return this.entries.read(...args);
  }

  take(...args: Call<'take'>): ReturnType<StreamStore['take']> {
    return this.entries.take(...args);
  }

  settle(place: Place, worker: string, maxHandBacks: number, settlements: readonly Settlement[]): ReturnType<StreamStore['settle']> {
    return this.settlements.settle(place, worker, maxHandBacks, settlements);
  }

  bury(...args: Call<'bury'>): ReturnType<StreamStore['bury']> {
    return this.settlements.bury(...args);
  }

  pendingOf(...args: Call<'pendingOf'>): ReturnType<StreamStore['pendingOf']> {
    return this.entries.pendingOf(...args);
  }

  beat(...args: Call<'beat'>): ReturnType<StreamStore['beat']> {
    return this.leases.beat(...args);
  }

  heartbeat(...args: Call<'heartbeat'>): Promise<void> {
    return this.leases.heartbeat(...args);
  }

  recover(...args: Call<'recover'>): ReturnType<StreamStore['recover']> {
    return this.leases.recover(...args);
  }

  signOff(...args: Call<'signOff'>): ReturnType<StreamStore['signOff']> {
    return this.leases.signOff(...args);
  }

  scan(...args: Call<'scan'>): ReturnType<StreamStore['scan']> {
    return this.leases.scan(...args);
  }

  async nudge({ stream, group }: Place): Promise<void> {
    await this.commands.call('PUBLISH', this.keys.nudges(group), stream);
  }

  onNudge(group: string, heard: (stream: string) => void): () => void {
    return this.nudges.on(group, heard);
  }

  workers(place: Place): Promise<readonly string[]> {
    return this.questions.workers(place);
  }

  stats(place: Place): ReturnType<StreamStore['stats']> {
    return this.questions.stats(place);
  }

  locate(...args: Call<'locate'>): ReturnType<StreamStore['locate']> {
    return this.questions.locate(...args);
  }

  deadLetters(...args: Call<'deadLetters'>): ReturnType<StreamStore['deadLetters']> {
    return this.letters.list(...args);
  }

  deadLetter(stream: string, id: EntryId): ReturnType<StreamStore['deadLetter']> {
    return this.letters.get(stream, id);
  }

  countDeadLetters(stream: string): Promise<number> {
    return this.letters.count(stream);
  }

  removeDeadLetters(stream: string, ids: readonly EntryId[]): Promise<number> {
    return this.letters.remove(stream, ids);
  }

  replay(stream: string, deadLetter: EntryId): ReturnType<StreamStore['replay']> {
    return this.letters.replay(stream, deadLetter);
  }
}
