import type { Clock } from '../../clock.js';
import { StoreError } from '../../rillkit.errors.js';
import type { RillkitEvents } from '../../rillkit.events.js';
import type { BlockingReader, ConnectionState, EntryId, StreamStore } from '../stream-store.js';
import { append, ensureGroup, hasEntry, pendingOf, readNew } from './entries.js';
import { unavailable } from './faults.js';
import type { Keyspace } from './keyspace.js';
import { beat, recover, scan, signOff } from './leases.js';
import { deadLetter, deadLetters, removeDeadLetters, replay } from './letters.js';
import { MemoryReader } from './memory-reader.js';
import type { MemoryServer } from './memory-server.js';
import { take } from './parking.js';
import { locate, stats, workers } from './questions.js';
import { bury, settle } from './settlements.js';

type Call<Method extends keyof StreamStore> = StreamStore[Method] extends (...args: infer Args) => unknown ? Args : never;
type Answer<Method extends keyof StreamStore> = StreamStore[Method] extends (...args: never) => infer Result ? Result : never;

/**
 * One door to a {@link MemoryServer}. Each call is done at once and as a whole, in the order of the calls; its answer comes as a promise
 * does. It waits on the clock that it was given, and on nothing else.
 */
export class MemoryConnection implements StreamStore {
  private current: ConnectionState = 'idle';
  private readonly waiting = new Set<() => void>();
  private readonly readers = new Set<MemoryReader>();
  private readonly listening = new Set<() => void>();

  constructor(
    private readonly server: MemoryServer,
    private readonly deps: { readonly clock: Clock; readonly events: RillkitEvents },
  ) {}

  get state(): ConnectionState {
    return this.current;
  }

  start(): void {
    if (this.current !== 'idle') return;
    this.current = 'ready';
    this.deps.events.emit({ type: 'keptInMemory' });
    for (const end of this.waiting) end();
  }

  async close(): Promise<void> {
    this.current = 'closed';
    for (const end of this.waiting) end();
    for (const stop of this.listening) stop();
    await Promise.all([...this.readers].map((reader) => reader.close()));
  }

  ready(waitMs: number): Promise<boolean> {
    if (this.current !== 'idle' || waitMs <= 0) return Promise.resolve(this.current === 'ready');
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        this.waiting.delete(end);
        resolve(this.current === 'ready');
      };
      const cancel = this.deps.clock.after(waitMs, end);
      this.waiting.add(end);
    });
  }

  ping(): Promise<void> {
    return this.call(() => {});
  }

  async append(...[stream, fields, { trim, waitMs }]: Call<'append'>): Promise<EntryId> {
    if (this.current === 'idle') await this.ready(waitMs);
    return this.call((data, nowMs) => append(data, stream, fields, trim, nowMs));
  }

  ensureGroup(...[place, from]: Call<'ensureGroup'>): Answer<'ensureGroup'> {
    return this.call((data) => ensureGroup(data, place, from));
  }

  hasEntry(...[stream, id]: Call<'hasEntry'>): Promise<boolean> {
    return this.call((data) => hasEntry(data, stream, id));
  }

  openReader(): BlockingReader {
    const reader = new MemoryReader(this.server, this.deps.clock, {
      isOpen: () => this.current === 'ready',
      onClose: () => this.readers.delete(reader),
    });
    this.readers.add(reader);
    return reader;
  }

  read(...[place, worker, count]: Call<'read'>): Answer<'read'> {
    return this.call((data, nowMs) => readNew(data.groupOf(place), worker, count, nowMs));
  }

  take(...[place, worker, count]: Call<'take'>): Answer<'take'> {
    return this.call((data, nowMs) => take(data, place, worker, count, nowMs));
  }

  settle(...[place, worker, maxHandBacks, settlements]: Call<'settle'>): Answer<'settle'> {
    return this.call((data, nowMs) => settle(data, place, worker, maxHandBacks, settlements, nowMs));
  }

  bury(...[place, worker, burial]: Call<'bury'>): Answer<'bury'> {
    return this.call((data, nowMs) => bury(data, place, worker, burial, nowMs));
  }

  pendingOf(...[place, worker, after, count]: Call<'pendingOf'>): Answer<'pendingOf'> {
    return this.call((data) => pendingOf(data, place, worker, after, count));
  }

  async beat(...[requests]: Call<'beat'>): Answer<'beat'> {
    return Promise.all(requests.map((request) => this.call((data, nowMs) => beat(data, request, nowMs)).catch(storeErrorOf)));
  }

  heartbeat(...[places, ttlMs]: Call<'heartbeat'>): Promise<void> {
    return this.call((data, nowMs) => {
      for (const place of places) data.heartbeat(data.keys.heartbeat(place, place.worker), ttlMs, nowMs);
    });
  }

  recover(...[place, worker, options]: Call<'recover'>): Answer<'recover'> {
    return this.call((data, nowMs) => recover(data, place, worker, options, nowMs));
  }

  signOff(...[place, worker, options]: Call<'signOff'>): Answer<'signOff'> {
    return this.call((data, nowMs) => signOff(data, place, worker, options, nowMs));
  }

  scan(...[place, options]: Call<'scan'>): Answer<'scan'> {
    return this.call((data, nowMs) => scan(data, place, options, nowMs));
  }

  /** Heard in a turn of its own, as over a network: nobody hears it from within the call that sends it. */
  async nudge({ stream, group }: Call<'nudge'>[0]): Promise<void> {
    const channel = await this.call((data) => data.keys.nudges(group));
    this.server.tell(channel, stream);
  }

  onNudge(...[group, heard]: Call<'onNudge'>): () => void {
    if (this.current === 'closed') return () => {};
    const silence = this.server.hear(this.server.data.keys.nudges(group), heard);
    const stop = (): void => {
      silence();
      this.listening.delete(stop);
    };
    this.listening.add(stop);
    return stop;
  }

  workers(...[place]: Call<'workers'>): Answer<'workers'> {
    return this.call((data, nowMs) => workers(data, place, nowMs));
  }

  stats(...[place]: Call<'stats'>): Answer<'stats'> {
    return this.call((data, nowMs) => stats(data, place, nowMs));
  }

  locate(...[place, id]: Call<'locate'>): Answer<'locate'> {
    return this.call((data, nowMs) => locate(data, place, id, nowMs));
  }

  deadLetters(...[stream, options]: Call<'deadLetters'>): Answer<'deadLetters'> {
    return this.call((data) => deadLetters(data, stream, options));
  }

  deadLetter(...[stream, id]: Call<'deadLetter'>): Answer<'deadLetter'> {
    return this.call((data) => deadLetter(data, stream, id));
  }

  countDeadLetters(stream: string): Promise<number> {
    return this.call((data) => data.stream(data.keys.deadLetters(stream))?.entries.size ?? 0);
  }

  removeDeadLetters(...[stream, ids]: Call<'removeDeadLetters'>): Promise<number> {
    return this.call((data) => removeDeadLetters(data, stream, ids));
  }

  replay(...[stream, id]: Call<'replay'>): Answer<'replay'> {
    return this.call((data, nowMs) => replay(data, stream, id, nowMs));
  }

  private async call<T>(work: (data: Keyspace, nowMs: number) => T): Promise<T> {
    if (this.current !== 'ready') throw unavailable('no', this.current === 'closed' ? 'it was closed' : 'it was not started');
    return this.server.run(this.deps.clock, work);
  }
}

function storeErrorOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  throw error;
}
