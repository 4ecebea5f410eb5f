import { randomBytes } from 'node:crypto';
import { Redis, type RedisOptions } from 'ioredis';
import { sleep, type Clock } from '../../clock.js';
import { Loop, loopBackoffMs } from '../../loop.js';
import { isStoreFault } from '../../rillkit.errors.js';
import type { RillkitEvents } from '../../rillkit.events.js';
import type { ConnectionState } from '../stream-store.js';
import { clientOptions, type ClientOptions } from './connection-options.js';
import { connectionErrorOf, isNoScript, storeErrorOf, textOfError, unavailable } from './errors.js';
import { killClient } from './kill-client.js';
import type { Reply } from './replies.js';
import type { Script } from './scripts/script.js';

/** The longest wait between two tries to connect, milliseconds. */
const MAX_BACKOFF_MS = 500;
/** A connection that ends sooner than this counts as a failed try: the next one waits, milliseconds. */
const STABLE_MS = 1_000;

export type Argument = string | number | Buffer;

export interface ConnectionDeps {
  readonly options: RedisOptions;
  readonly clock: Clock;
  readonly events: RillkitEvents;
}

export interface ConnectionParams {
  /** What it is for; part of its name in `CLIENT LIST`. */
  readonly role: string;
  /** How long an answer may take before the connection counts as dead, milliseconds. */
  readonly socketTimeoutMs: number;
  /** Runs on each new connection before anything else is sent on it. */
  readonly prepare?: (client: Redis) => Promise<unknown>;
}

/** One connection to Redis that is ours alone: made again for as long as it takes, by one client object, and nothing is ever sent twice. */
export class Connection {
  readonly client: Redis;
  /** Its name at the server, the same over reconnects and nobody else's. */
  readonly name: string;
  private current: ConnectionState = 'idle';
  private readonly options: ClientOptions;
  private readonly loop: Loop;
  private readonly backoffMs: (failures: number) => number;
  private readonly waiting = new Set<() => void>();
  private connectedBefore = false;
  /** How many tries to connect in a row have failed. */
  private failures = 0;
  /** How many connections in a row have ended at once. */
  private shortLives = 0;
  private lastError: unknown;
  private onEnd: () => void = () => {};
  /** The server's number for the connection, and for the last one that commands were sent on, until that is known to be dead. */
  private id: number | null = null;
  private predecessor: number | null = null;
  /** A lost connection could not be killed, or not be told from others, since that is forbidden: whether one is still alive cannot be known. */
  private haunted = false;

  constructor(
    private readonly deps: ConnectionDeps,
    private readonly params: ConnectionParams,
  ) {
    this.name = `rillkit:${encodeURIComponent(params.role)}:${randomBytes(6).toString('hex')}`;
    this.options = clientOptions(deps.options, this.name, params.socketTimeoutMs);
    this.client = new Redis(this.options);
    this.client.on('error', (error: unknown) => (this.lastError = error));
    this.client.on('end', () => {
      if (this.client.status === 'end') this.onEnd();
    });
    this.backoffMs = loopBackoffMs(deps.clock, 40, MAX_BACKOFF_MS);
    this.loop = new Loop({
      clock: deps.clock,
      backoffMs: this.backoffMs,
      onError: (error, failures) => {
        this.current = 'waiting';
        this.failures = failures;
        deps.events.emit({ type: 'loopFailed', loop: 'connection', error, failures });
      },
    });
  }

  get state(): ConnectionState {
    return this.current;
  }

  /** The server's number for this connection; `null` while there is none. */
  get clientId(): number | null {
    return this.isReady() ? this.id : null;
  }

  /** Whether a connection that is gone from here may still be alive at the server. */
  get hasGhost(): boolean {
    return this.haunted || (this.predecessor !== null && this.predecessor !== this.clientId);
  }

  /** Begins to connect and keeps at it. Safe to call twice. */
  start(): void {
    if (this.current !== 'idle') return;
    this.current = 'connecting';
    this.loop.start((signal) => this.step(signal));
  }

  /** Ends when commands can be sent, or `waitMs` is over, or `signal` aborts: `false` then, and at once when it is closed. */
  ready(waitMs: number, signal?: AbortSignal): Promise<boolean> {
    if (this.isReady()) return Promise.resolve(true);
    if (this.current === 'closed' || waitMs <= 0 || signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        signal?.removeEventListener('abort', end);
        this.waiting.delete(end);
        resolve(this.isReady());
      };
      const cancel = this.deps.clock.after(waitMs, end);
      signal?.addEventListener('abort', end, { once: true });
      this.waiting.add(end);
    });
  }

  /** Sends one command and answers its reply in bytes. @throws StoreError */
  async call(command: string, ...args: Argument[]): Promise<Reply> {
    if (!this.isReady()) throw this.notReady();
    this.gather();
    try {
      return await this.client.callBuffer(command, args);
    } catch (error) {
      throw storeErrorOf(error);
    }
  }

  /** Runs a script. A server that does not know it is sent it: it has not run, then. @throws StoreError */
  async run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<Reply> {
    if (!this.isReady()) throw this.notReady();
    this.gather();
    try {
      return await this.client.callBuffer('EVALSHA', [script.sha, script.keys, ...keys, ...args]);
    } catch (error) {
      if (!isNoScript(error)) throw storeErrorOf(error);
      return this.call('EVAL', script.lua, script.keys, ...keys, ...args);
    }
  }

  /** Breaks the connection off, now; it is made again. */
  drop(): void {
    if (this.client.status === 'wait' || this.client.status === 'end') return;
    // Not `disconnect` alone: that waits for the other side, which may never answer.
    this.client.disconnect();
    this.client.stream?.destroy();
  }

  /** Closes for good; ends soon, whatever the server does. */
  async close(): Promise<void> {
    if (this.current === 'closed') return;
    this.current = 'closed';
    this.drop();
    this.wake();
    await this.loop.stop();
  }

  /** What is sent in one go leaves in one packet: a system call for each would cost more than all the rest of a small command. */
  private gather(): void {
    const { stream } = this.client;
    if (stream.writableCorked > 0) return;
    stream.cork();
    process.nextTick(() => stream.uncork());
  }

  private isReady(): boolean {
    return this.current === 'ready' && this.client.status === 'ready';
  }

  private notReady(): Error {
    return unavailable('no', this.current === 'closed' ? 'the connection was closed' : textOfError(this.lastError ?? 'still connecting'));
  }

  /** One connection's life. Ends when it has ended; throws where it did not come about. */
  private async step(signal: AbortSignal): Promise<void> {
    const { clock, events } = this.deps;
    this.current = 'connecting';
    const ended = new Promise<void>((resolve) => (this.onEnd = resolve));
    await this.connect(signal);
    if (signal.aborted) return;
    const since = clock.monotonicMs();
    this.current = 'ready';
    this.lastError = undefined;
    this.wake();
    events.emit({ type: 'connected', connection: this.name, again: this.connectedBefore });
    this.connectedBefore = true;
    // The loop itself knows of no success before the connection has ended.
    if (this.failures > 0) events.emit({ type: 'loopRecovered', loop: 'connection', failures: this.failures });
    this.failures = 0;

    await ended;
    if (signal.aborted) return;
    this.current = 'waiting';
    const error = connectionErrorOf(this.lastError ?? new Error('Connection is closed.'));
    events.emit({ type: 'disconnected', connection: this.name, error });
    this.shortLives = clock.monotonicMs() - since < STABLE_MS ? this.shortLives + 1 : 0;
    if (this.shortLives > 0) await sleep(clock, this.backoffMs(this.shortLives), signal);
  }

  private async connect(signal: AbortSignal): Promise<void> {
    const cancel = this.deps.clock.after(this.options.connectTimeout, () => this.drop());
    try {
      this.lastError = undefined;
      // While ioredis asks Sentinels it hears no `disconnect`.
      await unlessAborted(signal, this.client.connect());
      await this.prepare();
      if (this.client.status !== 'ready') throw new Error('Connection is closed.');
    } catch (error) {
      this.drop();
      // ioredis rejects with "closed" and tells the reason, such as a wrong password, by an event.
      throw connectionErrorOf(this.lastError ?? error);
    } finally {
      cancel();
    }
  }

  private async prepare(): Promise<void> {
    const id = await this.askWhoWeAre();
    if (this.predecessor !== null && this.predecessor !== id) {
      this.haunted ||= !(await killClient(this.client, this.predecessor, this.name));
    }
    await this.params.prepare?.(this.client);
    this.id = this.predecessor = id;
  }

  /** The server's number for this connection, by which it can be ended from another; not without our name beside it, see {@link killClient}. */
  private async askWhoWeAre(): Promise<number | null> {
    try {
      const [id, name] = await Promise.all([this.client.client('ID'), this.client.client('GETNAME')]);
      if (name === this.name) return id;
    } catch (error) {
      if (!isStoreFault(storeErrorOf(error), 'refused')) throw error;
    }
    this.haunted = true;
    return null;
  }

  /** Lets all that wait for the connection look again. */
  private wake(): void {
    for (const end of this.waiting) end();
  }

  /** Makes sure, through `helper`, that nothing sent on a lost connection of ours is carried out any more. `false`: it may be. */
  async exorcise(helper: Connection): Promise<boolean> {
    if (!this.hasGhost) return true;
    const { predecessor } = this;
    if (predecessor === null || this.haunted || !helper.isReady()) return false;
    if (!(await killClient(helper.client, predecessor, this.name))) return false;
    if (this.predecessor === predecessor) this.predecessor = this.clientId;
    return true;
  }
}

/** Ends as `work` does, or when `signal` aborts. The signal lives as long as the connection is tried for, so that nothing may be left on it. */
function unlessAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => resolve();
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    work.finally(() => signal.removeEventListener('abort', end)).then(resolve, reject);
  });
}
