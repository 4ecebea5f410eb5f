import type { Redis, RedisOptions } from 'ioredis';
import type { StartFrom } from './broker/stream.js';
import type { JitteredBackoff, Backoff } from './consumer/backoff.js';
import type { Message } from './handlers/message.js';

/** When a message is acked: `nackOnError` when its handler returns; `ackAlways` also when it throws; `ackFirst` before it starts (at most once); `manual` only by `message.ack()` and its kind. */
export type AckPolicy = 'nackOnError' | 'ackAlways' | 'ackFirst' | 'manual';

export interface StreamHandlerOptions<T = unknown> {
  /** Names the handler in logs and errors. @default `Class.method` */
  readonly id?: string;
  /** The consumer group. @default the stream's, else the module's */
  readonly group?: string;
  /** How many messages are handled at a time, 1 to 10 000. @default 1 */
  readonly concurrency?: number;
  /** How often a failed message runs again before it is given up, 0 to 900. @default 3 */
  readonly maxRetries?: number;
  /** How long a failed attempt waits for the next. @default exponential() */
  readonly backoff?: Backoff;
  /** Whether a failure is worth a retry; `false` gives the message up at once. @default always */
  readonly retryIf?: (error: unknown, message: Message<T>) => boolean;
  /** How long one attempt may take, milliseconds. @default no limit */
  readonly timeoutMs?: number;
  /** How often a message may be handed back without spending an attempt, 0 to 1 000. @default 8 */
  readonly maxHandBacks?: number;
  /** @default 'nackOnError' */
  readonly ackPolicy?: AckPolicy;
  /** The most messages one read asks for, 1 to 1 000. @default 100 */
  readonly count?: number;
  /** How many messages are read ahead of free slots, 0 to 10 000; `'auto'`: as many as start within about 50 ms. @default 'auto' */
  readonly prefetch?: number | 'auto';
  /** How long a message of a consumer without a lease (another library) must lie idle before it is taken from it, milliseconds. @default 60_000 */
  readonly claimIdleMs?: number;
  /** Where a group that does not exist yet begins. @default the stream's, else 'beginning' */
  readonly startFrom?: StartFrom;
}

/** Where Redis is: a URL, ioredis options, both, or a client whose options are copied; the client itself is never used. */
export type ConnectionOption = string | RedisOptions | ({ readonly url: string } & RedisOptions) | Redis;

export interface LivenessOptions {
  /** How long a worker is believed alive after its last beat, milliseconds, at least 1 000. Shorter finds dead workers sooner and buries slow ones sooner. @default 6_000 */
  readonly leaseMs?: number;
  /** Whether the keys `rillkit:workers:…` are written, for people and for RillKit's tools. Nothing here depends on them. @default true */
  readonly heartbeat?: boolean;
  /** Their time to live, milliseconds, at least 3 000. @default 60_000 */
  readonly heartbeatTtlMs?: number;
}

export interface ShutdownOptions {
  /** How long running handlers may go on when the application closes, milliseconds. @default 10_000 */
  readonly graceMs?: number;
  /** How long they have after their signal was aborted, on shutdown and on `timeoutMs`, milliseconds. @default 1_000 */
  readonly abortMs?: number;
}

export interface RillkitModuleOptions {
  /** @default fromEnv() */
  readonly connection?: ConnectionOption;
  /** The group of handlers and streams that name none. */
  readonly group?: string;
  /** This process's name in every group. @default `<group>-<host>-<pid>-<random>` */
  readonly worker?: string;
  /** How long a read waits at the server, milliseconds, 100 to 30 000. @default 5_000 */
  readonly blockMs?: number;
  readonly liveness?: LivenessOptions;
  /** How long a publish waits for a connection and an answer, milliseconds. @default 5_000 */
  readonly publishTimeoutMs?: number;
  readonly shutdown?: ShutdownOptions;
  /** Options for all handlers; a handler's own go before. */
  readonly defaults?: Omit<StreamHandlerOptions, 'id'>;
}

export interface ResolvedHandlerOptions {
  readonly id: string;
  readonly concurrency: number;
  readonly maxRetries: number;
  readonly backoff: JitteredBackoff;
  readonly retryIf: (error: unknown, message: Message) => boolean;
  readonly timeoutMs: number | null;
  readonly maxHandBacks: number;
  readonly ackPolicy: AckPolicy;
  readonly count: number;
  readonly prefetch: number | 'auto';
  readonly claimIdleMs: number;
  readonly startFrom: StartFrom;
}

export interface ResolvedOptions {
  readonly connection: ConnectionOption;
  readonly group: string | null;
  readonly worker: string | null;
  readonly blockMs: number;
  readonly liveness: Required<LivenessOptions>;
  readonly publishTimeoutMs: number;
  readonly shutdown: Required<ShutdownOptions>;
  readonly defaults: Omit<StreamHandlerOptions, 'id'>;
}
