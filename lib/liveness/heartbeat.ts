import { elapsedSince, momentOf, sleep, type Clock, type Moment } from '../clock.js';
import { Loop, loopBackoffMs } from '../loop.js';
import type { RillkitEvents } from '../rillkit.events.js';
import type { ResolvedOptions } from '../rillkit.options.js';
import type { Beat, Place, StreamStore } from '../store/stream-store.js';
import { graveMsOf, type Lease } from './lease.js';

/** How often, within one lease, a worker beats. */
export const BEATS_PER_LEASE = 3;
/** Each period of this length, one worker of the group looks for what has no lease; milliseconds. */
export const SCAN_MS = 10_000;
/** A due time that another process knows of too is looked at this much later at most, so that not all ask at once; milliseconds. */
const FIRST_DUE_JITTER_MS = 50;
/** How many messages one call may recover: bounds how long it holds the server. */
export const RECOVER_BATCH = 200;

/** The one that beats are for: a worker at one place. */
export interface Beating extends Place {
  readonly worker: string;
  readonly lease: Lease;
  readonly due: { in(delayMs: number): void };
  /** Something may be pending for this worker that it does not know of. */
  suspect(): void;
  /** The lease was lost and is held again. */
  regained(): void;
  /** The lease is held for the first time, or again: reading may begin. */
  onChange(): void;
}

/** Who acts on what beats tell of the others. */
export interface BeatListener {
  found(place: Place, news: { readonly over: readonly string[]; readonly scan: boolean }): void;
}

export interface HeartbeatOptions {
  readonly store: Pick<StreamStore, 'ready' | 'beat' | 'heartbeat' | 'recover'>;
  readonly clock: Clock;
  readonly events: RillkitEvents;
  readonly liveness: ResolvedOptions['liveness'];
  readonly tag: number;
  readonly beating: readonly Beating[];
  readonly listener: BeatListener;
}

/** What is remembered of one place between two beats. */
interface Memory {
  since: number | null;
  takeOver: boolean;
  nameTaken: boolean;
}

/** Keeps this process's leases: one beat for all its workers in one call, however many messages they hold, during handlers too. */
export class Heartbeat {
  private readonly loop: Loop;
  private readonly memories = new Map<Beating, Memory>();
  private keysWrittenAt: Moment | null = null;

  constructor(private readonly options: HeartbeatOptions) {
    const { clock, events, liveness } = options;
    this.loop = new Loop({
      clock,
      onError: (error, failures) => events.emit({ type: 'loopFailed', loop: 'beat', error, failures }),
      onRecovered: (failures) => events.emit({ type: 'loopRecovered', loop: 'beat', failures }),
      backoffMs: loopBackoffMs(clock, 50, Math.min(500, liveness.leaseMs / 6)),
    });
  }

  start(): void {
    const { store, clock, liveness } = this.options;
    const beatMs = liveness.leaseMs / BEATS_PER_LEASE;
    this.loop.start(async (signal) => {
      // A start takes as long as it takes, and the connection tells of its trouble by itself. When it is there, the next beat is at once.
      await store.ready(beatMs, signal);
      if (signal.aborted) return;
      const startedAt = momentOf(clock);
      await this.runOnce();
      await sleep(clock, beatMs - elapsedSince(clock, startedAt), signal);
    });
  }

  /** Ends when the beat under way has: a late one would revive what has signed off. */
  async stop(): Promise<void> {
    await this.loop.stop();
  }

  /** Whether another process held this worker's name at the last beat. */
  isNameTaken(beating: Beating): boolean {
    return this.memories.get(beating)?.nameTaken ?? false;
  }

  /** One beat for all. */
  async runOnce(): Promise<void> {
    const { store, clock, events, liveness, tag, beating } = this.options;
    if (beating.length === 0) return;
    const sentAt = momentOf(clock);
    const answers = await store.beat(
      beating.map((one) => {
        const { since, takeOver } = this.memoryOf(one);
        const { stream, group, worker } = one;
        return { stream, group, worker, tag, leaseMs: liveness.leaseMs, scanMs: SCAN_MS, since, takeOver };
      }),
    );
    const failed: unknown[] = [];
    await Promise.all(
      beating.map(async (one, index) => {
        const answer = answers[index];
        if (answer instanceof Error || !answer) {
          failed.push(answer);
          events.emit({ type: 'loopFailed', loop: 'beat', stream: one.stream, group: one.group, error: answer, failures: 1 });
        } else if (answer.is === 'taken') await this.nameTaken(one, answer.leaseLeftMs);
        else this.beaten(one, answer, sentAt);
      }),
    );
    if (failed.length === beating.length) throw failed[0];
    await this.writeKeys();
  }

  private beaten(one: Beating, beat: Extract<Beat, { is: 'beaten' }>, sentAt: Moment): void {
    const { clock, events, listener } = this.options;
    const memory = this.memoryOf(one);
    memory.since = beat.atMs;
    memory.takeOver = false;
    memory.nameTaken = false;
    switch (one.lease.renewed(sentAt)) {
      case 'first':
        events.emit({ type: 'consuming', stream: one.stream, group: one.group, worker: one.worker });
        one.suspect();
        break;
      case 'regained':
        events.emit({ type: 'leaseRegained', stream: one.stream, group: one.group, worker: one.worker });
        one.regained();
        break;
      case 'kept':
        // The others may have taken it for dead although it never knew: then what they have not taken is still its own.
        if (beat.before !== 'live') one.suspect();
        break;
      case 'tooLate':
        break;
    }
    if (beat.firstDueMs !== null) one.due.in(beat.firstDueMs + clock.jitter(FIRST_DUE_JITTER_MS));
    if (beat.over.length > 0 || beat.scan) listener.found(one, { over: beat.over, scan: beat.scan });
    one.onChange();
  }

  /** Waits for the other's end, then hands its messages on: they are never adopted. */
  private async nameTaken(one: Beating, leaseLeftMs: number): Promise<void> {
    const { store, events, liveness } = this.options;
    const graveMs = graveMsOf(liveness.leaseMs);
    const memory = this.memoryOf(one);
    if (!memory.nameTaken) events.emit({ type: 'nameTaken', stream: one.stream, group: one.group, worker: one.worker });
    memory.nameTaken = true;
    one.lease.lose();
    if (leaseLeftMs > 0) return;
    const { stream, group, worker } = one;
    for (let is = 'more'; is === 'more';) {
      const recovery = await store.recover(one, worker, { count: RECOVER_BATCH, graveMs });
      is = recovery.is;
      if (recovery.lost.length > 0) events.emit({ type: 'lost', stream, group, count: recovery.lost.length });
      if (recovery.parked > 0) events.emit({ type: 'recovered', stream, group, worker, count: recovery.parked });
    }
    memory.takeOver = true;
  }

  /** The keys that people and RillKit's tools look at; nothing here depends on them, so their trouble is only told. */
  private async writeKeys(): Promise<void> {
    const { store, clock, events, liveness, beating } = this.options;
    if (!liveness.heartbeat) return;
    if (this.keysWrittenAt && elapsedSince(clock, this.keysWrittenAt) < liveness.heartbeatTtlMs / 3) return;
    const held = beating.filter((one) => one.lease.held);
    if (held.length === 0) return;
    try {
      await store.heartbeat(held, liveness.heartbeatTtlMs);
      this.keysWrittenAt = momentOf(clock);
    } catch (error) {
      events.emit({ type: 'loopFailed', loop: 'beat', error, failures: 1 });
    }
  }

  private memoryOf(one: Beating): Memory {
    let memory = this.memories.get(one);
    if (!memory) {
      memory = { since: null, takeOver: false, nameTaken: false };
      this.memories.set(one, memory);
    }
    return memory;
  }
}
