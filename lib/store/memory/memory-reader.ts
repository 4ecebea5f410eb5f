import type { Clock } from '../../clock.js';
import { StoreError } from '../../rillkit.errors.js';
import type { BlockingReader } from '../stream-store.js';
import { readNew } from './entries.js';
import { unavailable } from './faults.js';
import type { Keyspace } from './keyspace.js';
import type { MemoryServer } from './memory-server.js';
import type { Wait } from './waits.js';

type Request = Parameters<BlockingReader['read']>[0];
type Answer = Awaited<ReturnType<BlockingReader['read']>>;

/** A read that waits. */
interface UnderWay {
  breakOff(): void;
  fail(error: StoreError): void;
}

/** Reads that wait until somebody adds what they are for, or are broken off. */
export class MemoryReader implements BlockingReader {
  private underWay: UnderWay | null = null;
  /** Resolves, never rejects, when the last read has ended for its caller too. */
  private over: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(
    private readonly server: MemoryServer,
    private readonly clock: Clock,
    private readonly params: { readonly isOpen: () => boolean; readonly onClose: () => void },
  ) {}

  async read(request: Request): Promise<Answer> {
    if (this.underWay) throw new StoreError('A read is under way on this reader already.', 'refused', 'no');
    if (this.closed || !this.params.isOpen()) throw unavailable('no', 'the reader is not open');
    const answer = this.attempt(request);
    this.over = answer.then(ignore, ignore);
    return answer;
  }

  async interrupt(): Promise<'ended'> {
    this.underWay?.breakOff();
    await this.over;
    return 'ended';
  }

  async close(): Promise<void> {
    this.closed = true;
    this.params.onClose();
    this.underWay?.fail(unavailable('unknown', 'the reader was closed'));
  }

  private async attempt(request: Request): Promise<Answer> {
    const names = new Map(request.streams.map((name) => [this.server.data.keys.stream(name), name]));
    const found = this.server.run(this.clock, (data, nowMs) => readNow(data, names, request, nowMs));
    return found.length > 0 ? found : this.wait(request, names);
  }

  private wait({ group, worker, count, blockMs }: Request, names: ReadonlyMap<string, string>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const over = (tell: () => void): void => {
        cancel();
        this.server.waits.delete(wait);
        this.underWay = null;
        tell();
      };
      const wait: Wait = {
        keys: [...names.keys()],
        group,
        worker,
        count,
        answer: (key, messages) => over(() => resolve([{ stream: names.get(key) ?? key, messages }])),
        refuse: (error) => over(() => reject(error)),
      };
      const inVain = (): void => over(() => resolve([]));
      const cancel = this.clock.after(Math.max(1, Math.ceil(blockMs)), inVain);
      this.server.waits.add(wait);
      this.underWay = { breakOff: inVain, fail: (error) => over(() => reject(error)) };
    });
  }
}

/** What is there already. One stream that is gone, or whose group is, fails the whole read, and nothing is read then. */
function readNow(data: Keyspace, names: ReadonlyMap<string, string>, { group, worker, count }: Request, nowMs: number): Answer {
  const places = [...names].map(([key, stream]) => ({ stream, found: data.group(key, group) }));
  return places
    .map(({ stream, found }) => ({ stream, messages: readNew(found, worker, count, nowMs) }))
    .filter(({ messages }) => messages.length > 0);
}

const ignore = (): void => {};
