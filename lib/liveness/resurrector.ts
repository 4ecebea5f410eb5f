import { sleep, type Clock } from '../clock.js';
import { Loop } from '../loop.js';
import type { RillkitEvents } from '../rillkit.events.js';
import type { Place, Recovery, StreamStore } from '../store/stream-store.js';
import { RECOVER_BATCH, type BeatListener } from './heartbeat.js';
import { graveMsOf } from './lease.js';

/** So that not all workers of a group call at once for the same dead one; milliseconds. */
const JITTER_MS = 100;
/** How long a call under way is waited for at the end, milliseconds. */
const STOP_MS = 500;

export interface ResurrectorOptions {
  readonly store: Pick<StreamStore, 'recover' | 'scan' | 'nudge'>;
  readonly clock: Clock;
  readonly events: RillkitEvents;
  readonly leaseMs: number;
}

type Task = { readonly place: Place } & (
  { readonly is: 'recover'; readonly worker: string } | { readonly is: 'scan'; readonly claimIdleMs: number }
);

/** Hands dead workers' messages on, as soon as a beat says that their lease ran out. Any worker does it for any other: no leader, no lock. */
export class Resurrector implements BeatListener {
  private readonly loop: Loop;
  private readonly tasks = new Map<string, Task>();
  private readonly claimIdle = new Map<string, number>();
  private resume: (() => void) | null = null;

  constructor(private readonly options: ResurrectorOptions) {
    const { clock, events } = options;
    this.loop = new Loop({ clock, onError: (error, failures) => events.emit({ type: 'loopFailed', loop: 'recover', error, failures }) });
  }

  start(): void {
    this.loop.start(async (signal) => {
      await this.work(signal);
      await this.runOnce(signal);
    });
  }

  /** Ends within the running call, or {@link STOP_MS}: a call may hang with its connection, and is harmless. Safe to call twice, or before `start`. */
  async stop(): Promise<void> {
    const stopped = this.loop.stop();
    this.resume?.();
    const over = new AbortController();
    await Promise.race([stopped.finally(() => over.abort()), sleep(this.options.clock, STOP_MS, over.signal)]);
  }

  /** How long a message of a consumer without a lease must lie idle at this place, milliseconds. */
  watch(place: Place, claimIdleMs: number): void {
    this.claimIdle.set(keyOf(place), claimIdleMs);
  }

  found(place: Place, news: { readonly over: readonly string[]; readonly scan: boolean }): void {
    const key = keyOf(place);
    const { stream, group } = place;
    for (const worker of news.over) this.tasks.set(`${key} ${worker}`, { is: 'recover', place: { stream, group }, worker });
    const claimIdleMs = this.claimIdle.get(key);
    if (news.scan && claimIdleMs !== undefined) this.tasks.set(key, { is: 'scan', place: { stream, group }, claimIdleMs });
    this.resume?.();
  }

  /** Does all that was found. Each call is bounded, so that a mass death cannot hold Redis up. */
  async runOnce(signal?: AbortSignal): Promise<void> {
    let failure: { readonly error: unknown } | null = null;
    for (const [key, task] of this.tasks) {
      if (signal?.aborted) return;
      this.tasks.delete(key);
      try {
        if (task.is === 'recover') await this.recover(task.place, task.worker, signal);
        else await this.scan(task.place, task.claimIdleMs);
      } catch (error) {
        // The next beat names it again; one place's trouble must not hold up the others.
        failure = { error };
      }
    }
    if (failure) throw failure.error;
  }

  private async recover(place: Place, worker: string, signal?: AbortSignal): Promise<void> {
    const { store, events, leaseMs } = this.options;
    const graveMs = graveMsOf(leaseMs);
    let is: Recovery['is'] = 'more';
    while (is === 'more') {
      if (signal?.aborted) return;
      const recovery = await store.recover(place, worker, { count: RECOVER_BATCH, graveMs });
      is = recovery.is;
      if (recovery.lost.length > 0) events.emit({ type: 'lost', ...place, count: recovery.lost.length });
      if (recovery.parked > 0) {
        events.emit({ type: 'recovered', ...place, worker, count: recovery.parked });
        await store.nudge(place);
      }
      if (is === 'buried') events.emit({ type: 'buried', ...place, worker });
    }
  }

  private async scan(place: Place, claimIdleMs: number): Promise<void> {
    const { store, events } = this.options;
    const { foreign, repaired, lost } = await store.scan(place, { claimIdleMs, count: RECOVER_BATCH });
    if (lost.length > 0) events.emit({ type: 'lost', ...place, count: lost.length });
    if (foreign === 0 && repaired === 0) return;
    events.emit({ type: 'scanned', ...place, foreign, repaired });
    await store.nudge(place);
  }

  /** Ends when there is something to do. */
  private async work(signal: AbortSignal): Promise<void> {
    if (this.tasks.size === 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.resume = resolve;
      });
      this.resume = null;
    }
    await sleep(this.options.clock, this.options.clock.jitter(JITTER_MS), signal);
  }
}

const keyOf = ({ stream, group }: Place): string => JSON.stringify([stream, group]);
