import type { Redis, RedisOptions } from 'ioredis';
import { fromEnv } from './broker/from-env.js';
import { checkStartFrom, type StartFrom, type Stream } from './broker/stream.js';
import { checkConnection } from './connection-option.js';
import { exponential, type Backoff, type JitteredBackoff } from './consumer/backoff.js';
import type { Message } from './handlers/message.js';
import { callable, checkKeys, flag, join, MAX_TIMER_MS, named, oneOf, whole, wholeMs } from './option-checks.js';
import { OptionError } from './rillkit.errors.js';
import { checkGroupName, checkWorkerName } from './store/names.js';
import type { MemoryStore } from './store/memory/memory-store.js';
import { MAX_BATCH } from './store/stream-store.js';

/** When a message is acked: `nackOnError` when its handler returns; `ackAlways` also when it throws; `ackFirst` before it starts (at most once); `manual` only by `message.ack()` and its kind. */
export type AckPolicy = 'nackOnError' | 'ackAlways' | 'ackFirst' | 'manual';

// As a method's type, so that the options for one type of body can stand where those for any are asked for.
type RetryIf<T> = { check(error: unknown, message: Message<T>): boolean }['check'];

export interface StreamHandlerOptions<T = unknown> {
  /** Names the handler in logs and errors. @default `Class.method` */
  readonly id?: string | undefined;
  /** The consumer group. @default the stream's, else the module's */
  readonly group?: string | undefined;
  /** How many messages are handled at a time, 1 to 10 000. @default 1 */
  readonly concurrency?: number | undefined;
  /** How often a failed message runs again before it is given up, 0 to 900. @default 3 */
  readonly maxRetries?: number | undefined;
  /** How long a failed attempt waits for the next. @default exponential() */
  readonly backoff?: Backoff | undefined;
  /** Whether a failure is worth a retry; `false` gives the message up at once. @default always */
  readonly retryIf?: RetryIf<T> | undefined;
  /** How long one attempt may take, milliseconds. @default no limit */
  readonly timeoutMs?: number | undefined;
  /** How often a message may be handed back without spending an attempt, 0 to 1 000. @default 8 */
  readonly maxHandBacks?: number | undefined;
  /** @default 'nackOnError' */
  readonly ackPolicy?: AckPolicy | undefined;
  /** The most messages one read asks for, 1 to 1 000. @default 100 */
  readonly count?: number | undefined;
  /** How many messages are read ahead of free slots, 0 to 10 000; `'auto'`: as many as start within about 50 ms. @default 'auto' */
  readonly prefetch?: number | 'auto' | undefined;
  /** How long a message of a consumer without a lease (another library) must lie idle before it is taken from it, milliseconds. @default 60_000 */
  readonly claimIdleMs?: number | undefined;
  /** Where a group that does not exist yet begins. @default the stream's, else 'beginning' */
  readonly startFrom?: StartFrom | undefined;
}

/** Where Redis is: a URL, ioredis options, both, or a client whose options are copied; the client itself is never used. */
export type RedisConnectionOption = string | RedisOptions | ({ readonly url: string } & RedisOptions) | Redis;

/** Where messages are kept: in Redis; or in this process, by `'memory'` or by a {@link MemoryStore} that several share. */
export type ConnectionOption = RedisConnectionOption | MemoryStore;

export interface LivenessOptions {
  /** How long a worker is believed alive after its last beat, milliseconds, at least 1 000. Shorter finds dead workers sooner and buries slow ones sooner. @default 6_000 */
  readonly leaseMs?: number | undefined;
  /** Whether the keys `rillkit:workers:…` are written, for people and for RillKit's tools. Nothing here depends on them. @default true */
  readonly heartbeat?: boolean | undefined;
  /** Their time to live, milliseconds, at least 3 000. @default 60_000 */
  readonly heartbeatTtlMs?: number | undefined;
}

export interface ShutdownOptions {
  /** How long running handlers may go on when the application closes, milliseconds. @default 10_000 */
  readonly graceMs?: number | undefined;
  /** How long they have after their signal was aborted, on shutdown and on `timeoutMs`, milliseconds. @default 1_000 */
  readonly abortMs?: number | undefined;
}

export interface RillkitModuleOptions {
  /** @default fromEnv() */
  readonly connection?: ConnectionOption | undefined;
  /** The group of handlers and streams that name none. */
  readonly group?: string | undefined;
  /** This process's name in every group. @default `<group>-<host>-<pid>-<random>` */
  readonly worker?: string | undefined;
  /** How long a read waits at the server, milliseconds, 100 to 30 000. @default 5_000 */
  readonly blockMs?: number | undefined;
  readonly liveness?: LivenessOptions | undefined;
  /** How long a publish waits for a connection and an answer, milliseconds. @default 5_000 */
  readonly publishTimeoutMs?: number | undefined;
  readonly shutdown?: ShutdownOptions | undefined;
  /** Options for all handlers; a handler's own go before. */
  readonly defaults?: Omit<StreamHandlerOptions, 'id'> | undefined;
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
  readonly liveness: Complete<LivenessOptions>;
  readonly publishTimeoutMs: number;
  readonly shutdown: Complete<ShutdownOptions>;
  readonly defaults: Omit<StreamHandlerOptions, 'id'>;
}

/** All options given: neither absent nor `undefined`. */
type Complete<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> };

/** The defaults of a module. */
export const MODULE_DEFAULTS = { blockMs: 5_000, publishTimeoutMs: 5_000 } as const;
export const LIVENESS_DEFAULTS: Complete<LivenessOptions> = { leaseMs: 6_000, heartbeat: true, heartbeatTtlMs: 60_000 };
export const SHUTDOWN_DEFAULTS: Complete<ShutdownOptions> = { graceMs: 10_000, abortMs: 1_000 };

/** The defaults of a handler. */
export const HANDLER_DEFAULTS: Omit<ResolvedHandlerOptions, 'id'> = {
  concurrency: 1,
  maxRetries: 3,
  backoff: exponential(),
  retryIf: () => true,
  timeoutMs: null,
  maxHandBacks: 8,
  ackPolicy: 'nackOnError',
  count: 100,
  prefetch: 'auto',
  claimIdleMs: 60_000,
  startFrom: 'beginning',
};

const ACK_POLICIES = ['nackOnError', 'ackAlways', 'ackFirst', 'manual'] as const;
/** A millisecond at least, and no longer than a timer can wait. */
const TIMER = { min: 1, max: MAX_TIMER_MS };

const MODULE_KEYS = ['connection', 'group', 'worker', 'blockMs', 'liveness', 'publishTimeoutMs', 'shutdown', 'defaults'];
const MODULE_LATER = ['prefix', 'autoStart', 'handlers', 'globalEnhancers', 'hooks', 'preflight', 'name'];
const HANDLER_LATER = ['broker', 'type', 'autoStart'];

/** Checks a module's options and completes them. @throws OptionError that names the option and the rule it broke. */
export function resolveOptions(input: RillkitModuleOptions = {}): ResolvedOptions {
  checkKeys('', input, MODULE_KEYS, MODULE_LATER);
  const { connection = fromEnv(), group, worker } = input;
  const { blockMs = MODULE_DEFAULTS.blockMs, publishTimeoutMs = MODULE_DEFAULTS.publishTimeoutMs } = input;
  const { defaults = {} } = input;
  checkConnection('connection', connection);
  checkHandlerOptions('defaults', defaults, ['id']);
  if (group !== undefined && defaults.group !== undefined)
    throw new OptionError('defaults.group', 'is the same as group; give one of them');
  return {
    connection,
    group: group === undefined ? (defaults.group ?? null) : named('group', group, checkGroupName),
    worker: worker === undefined ? null : named('worker', worker, checkWorkerName),
    blockMs: wholeMs('blockMs', blockMs, { min: 100, max: 30_000 }),
    liveness: resolveLiveness(input.liveness),
    publishTimeoutMs: wholeMs('publishTimeoutMs', publishTimeoutMs, TIMER),
    shutdown: resolveShutdown(input.shutdown),
    defaults,
  };
}

function resolveLiveness(input: LivenessOptions = {}): Complete<LivenessOptions> {
  checkKeys('liveness', input, Object.keys(LIVENESS_DEFAULTS), ['thread', 'maxBlockedMs', 'suspectMs']);
  const { leaseMs = LIVENESS_DEFAULTS.leaseMs, heartbeat = LIVENESS_DEFAULTS.heartbeat } = input;
  const { heartbeatTtlMs = LIVENESS_DEFAULTS.heartbeatTtlMs } = input;
  wholeMs('liveness.leaseMs', leaseMs, { min: 1_000, max: MAX_TIMER_MS });
  flag('liveness.heartbeat', heartbeat);
  wholeMs('liveness.heartbeatTtlMs', heartbeatTtlMs, { min: 3_000, max: MAX_TIMER_MS });
  if (heartbeat && heartbeatTtlMs < leaseMs) {
    throw new OptionError(
      'liveness.heartbeatTtlMs',
      `must be at least liveness.leaseMs (${leaseMs}), whose beats renew it, not ${heartbeatTtlMs}`,
    );
  }
  return { leaseMs, heartbeat, heartbeatTtlMs };
}

function resolveShutdown(input: ShutdownOptions = {}): Complete<ShutdownOptions> {
  checkKeys('shutdown', input, Object.keys(SHUTDOWN_DEFAULTS));
  const { graceMs = SHUTDOWN_DEFAULTS.graceMs, abortMs = SHUTDOWN_DEFAULTS.abortMs } = input;
  return {
    graceMs: wholeMs('shutdown.graceMs', graceMs, { min: 0, max: MAX_TIMER_MS }),
    abortMs: wholeMs('shutdown.abortMs', abortMs, { min: 0, max: MAX_TIMER_MS }),
  };
}

/** What each option of a handler must be; throws an {@link OptionError} where a value is something else. */
const HANDLER_RULES: Readonly<Record<keyof StreamHandlerOptions, (option: string, value: unknown) => unknown>> = {
  id: (option, value) => named(option, value, checkId),
  group: (option, value) => named(option, value, checkGroupName),
  concurrency: (option, value) => whole(option, value, { min: 1, max: 10_000 }),
  maxRetries: (option, value) => whole(option, value, { min: 0, max: 900 }),
  backoff: (option, value) => callable(option, value, '(attempt, error) => milliseconds, such as exponential() or fixed(ms)'),
  retryIf: (option, value) => callable(option, value, '(error, message) => boolean'),
  timeoutMs: (option, value) => wholeMs(option, value, TIMER),
  maxHandBacks: (option, value) => whole(option, value, { min: 0, max: 1_000 }),
  ackPolicy: (option, value) => oneOf(option, value, ACK_POLICIES),
  count: (option, value) => whole(option, value, { min: 1, max: MAX_BATCH }),
  prefetch: (option, value) => (value === 'auto' ? value : whole(option, value, { min: 0, max: 10_000 }, "or 'auto'")),
  claimIdleMs: (option, value) => wholeMs(option, value, TIMER),
  startFrom: checkStartFrom,
};

function checkHandlerOptions(path: string, options: StreamHandlerOptions, notHere: readonly string[] = []): void {
  const known = Object.entries(HANDLER_RULES).filter(([name]) => !notHere.includes(name));
  const names = known.map(([name]) => name);
  checkKeys(path, options, names, HANDLER_LATER);
  const given = new Map<string, unknown>(Object.entries(options));
  for (const [name, rule] of known) {
    const value = given.get(name);
    if (value !== undefined) rule(join(path, name), value);
  }
}

/** What a handler's options are completed from. */
export interface HandlerContext {
  /** `Class.method`: names the handler in errors, and is its `id` where it has none of its own. */
  readonly id: string;
  readonly stream: Stream;
  readonly defaults: ResolvedOptions['defaults'];
}

/**
 * Checks a handler's own options and completes them: its own go before the module's `defaults`; `startFrom` is looked for in the stream in
 * between.
 * @throws OptionError that names the handler, the option and the rule it broke.
 */
export function resolveHandlerOptions(own: StreamHandlerOptions, { id, stream, defaults }: HandlerContext): ResolvedHandlerOptions {
  checkHandlerOptions(id, own);
  return {
    id: own.id ?? id,
    concurrency: own.concurrency ?? defaults.concurrency ?? HANDLER_DEFAULTS.concurrency,
    maxRetries: own.maxRetries ?? defaults.maxRetries ?? HANDLER_DEFAULTS.maxRetries,
    backoff: own.backoff ?? defaults.backoff ?? HANDLER_DEFAULTS.backoff,
    retryIf: own.retryIf ?? defaults.retryIf ?? HANDLER_DEFAULTS.retryIf,
    timeoutMs: own.timeoutMs ?? defaults.timeoutMs ?? HANDLER_DEFAULTS.timeoutMs,
    maxHandBacks: own.maxHandBacks ?? defaults.maxHandBacks ?? HANDLER_DEFAULTS.maxHandBacks,
    ackPolicy: own.ackPolicy ?? defaults.ackPolicy ?? HANDLER_DEFAULTS.ackPolicy,
    count: own.count ?? defaults.count ?? HANDLER_DEFAULTS.count,
    prefetch: own.prefetch ?? defaults.prefetch ?? HANDLER_DEFAULTS.prefetch,
    claimIdleMs: own.claimIdleMs ?? defaults.claimIdleMs ?? HANDLER_DEFAULTS.claimIdleMs,
    startFrom: own.startFrom ?? stream.options.startFrom ?? defaults.startFrom ?? HANDLER_DEFAULTS.startFrom,
  };
}

function checkId(id: string): void {
  if (id === '') throw new Error('must not be empty');
}
