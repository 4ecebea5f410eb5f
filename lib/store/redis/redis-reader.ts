import { sleep, type Clock } from '../../clock.js';
import { StoreError } from '../../rillkit.errors.js';
import type { BlockingReader } from '../stream-store.js';
import { Connection, type ConnectionDeps } from './connection.js';
import { unavailable } from './errors.js';
import type { Keys } from './keys.js';
import { readOf } from './replies.js';

/** What an answer may take beyond the block, milliseconds. A connection that is silent for longer is dead. */
const MARGIN_MS = 2_000;
/** The longest wait between two UNBLOCKs, milliseconds. */
const MAX_UNBLOCK_WAIT_MS = 20;

type Request = Parameters<BlockingReader['read']>[0];
type Answer = Awaited<ReturnType<BlockingReader['read']>>;

/** A read under way: `over` resolves, never rejects, when it has ended; `abort` ends it while it waits for its connection. */
interface UnderWay {
  over: Promise<void>;
  readonly abort: AbortController;
  sent: boolean;
}

/** Blocking reads on a connection of their own, which another connection can break off. */
export class RedisReader implements BlockingReader {
  private readonly connection: Connection;
  private readonly clock: Clock;
  private underWay: UnderWay | null = null;

  constructor(
    deps: ConnectionDeps,
    private readonly keys: Keys,
    /** Carries UNBLOCK and KILL. */
    private readonly commands: Connection,
    private readonly params: { readonly name: string; readonly blockMs: number; readonly onClose: () => void },
  ) {
    this.clock = deps.clock;
    this.connection = new Connection(deps, { role: `reader:${params.name}`, socketTimeoutMs: params.blockMs + MARGIN_MS });
    this.connection.start();
  }

  async read(request: Request): Promise<Answer> {
    if (this.underWay) throw new StoreError('A read is under way on this reader already.', 'refused', 'no');
    const underWay: UnderWay = { over: Promise.resolve(), abort: new AbortController(), sent: false };
    this.underWay = underWay;
    const answer = this.attempt(request, underWay).finally(() => (this.underWay = null));
    underWay.over = answer.then(ignore, ignore);
    return answer;
  }

  async interrupt(): Promise<'ended' | 'unsure'> {
    const { underWay } = this;
    if (underWay && !underWay.sent) underWay.abort.abort();
    if (underWay?.sent) return this.breakOff(underWay);
    await underWay?.over;
    return this.hasEnded();
  }

  async close(): Promise<void> {
    this.params.onClose();
    await this.connection.close();
  }

  private async attempt(request: Request, underWay: UnderWay): Promise<Answer> {
    const { signal } = underWay.abort;
    const ready = await this.connection.ready(request.blockMs, signal);
    // Without a connection it must not look as one that the server broke off, which is a sign of life.
    if (signal.aborted && !ready) throw new StoreError('The read was broken off before it was sent.', 'interrupted', 'no');
    if (signal.aborted) return [];
    if (!ready) throw unavailable('no', 'the reader waits for its connection');
    underWay.sent = true;
    return this.send(request);
  }

  private async send({ group, worker, streams, count, blockMs }: Request): Promise<Answer> {
    const names = new Map(streams.map((name) => [this.keys.stream(name), name]));
    const block = Math.max(1, Math.ceil(blockMs));
    const reply = await this.connection.call(
      'XREADGROUP',
      'GROUP',
      group,
      worker,
      'COUNT',
      count,
      'BLOCK',
      block,
      'STREAMS',
      ...names.keys(),
      ...streams.map(() => '>'),
    );
    return readOf(reply).map(({ key, messages }) => ({ stream: names.get(key) ?? key, messages }));
  }

  private async breakOff({ over }: UnderWay): Promise<'ended' | 'unsure'> {
    const ended = new AbortController();
    void over.then(() => ended.abort());
    // An UNBLOCK that arrives before its read is lost, so it is repeated until that very read has ended.
    for (let waitMs = 1; !ended.signal.aborted; waitMs = Math.min(waitMs * 2, MAX_UNBLOCK_WAIT_MS)) {
      if (!(await this.unblock())) {
        // Breaking our own end off ends the read here; whether it has ended there too is asked below.
        this.connection.drop();
        break;
      }
      await sleep(this.clock, waitMs, ended.signal);
    }
    await over;
    return this.hasEnded();
  }

  /** `false`: that is forbidden, or there is no way to ask. */
  private async unblock(): Promise<boolean> {
    const id = this.connection.clientId;
    if (id === null) return false;
    try {
      await this.commands.call('CLIENT', 'UNBLOCK', id);
      return true;
    } catch {
      return false;
    }
  }

  private async hasEnded(): Promise<'ended' | 'unsure'> {
    return (await this.connection.exorcise(this.commands)) ? 'ended' : 'unsure';
  }
}

const ignore = (): void => {};
