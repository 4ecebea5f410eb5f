import { elapsedSince, momentOf, type Clock, type Moment } from '../clock.js';
import { isStoreFault } from '../rillkit.errors.js';
import type { EntryId, PendingEntry, Place, StreamStore } from '../store/stream-store.js';

export interface AuditOptions {
  readonly store: Pick<StreamStore, 'pendingOf'>;
  readonly clock: Clock;
  readonly place: Place;
  readonly worker: string;
  /** The entries that this process has, or has a settlement of without an answer. */
  readonly known: () => ReadonlySet<EntryId>;
}

const PAGE = 200;

/**
 * Compares what is pending for a worker with what it knows of: a message whose reply was lost on the wire is its own and unknown to it. Only to
 * be run while no read and no take of this worker is under way, or it would find what is about to arrive, and run messages twice.
 */
export class Audit {
  /** What makes one necessary: `touched`, with the next beat, since something was read; `failed`, at once. */
  private suspicion: 'none' | 'touched' | 'failed' = 'none';
  private doneAt: Moment;

  constructor(private readonly options: AuditOptions) {
    this.doneAt = momentOf(options.clock);
  }

  /** Something was read. */
  touch(): void {
    if (this.suspicion === 'none') this.suspicion = 'touched';
  }

  /** A call failed whose reply may have brought messages. */
  suspect(): void {
    this.suspicion = 'failed';
  }

  /** Whether a call that failed may have brought messages that nobody has looked for since. */
  get suspected(): boolean {
    return this.suspicion === 'failed';
  }

  isDue(beatMs: number): boolean {
    return this.suspected || (this.suspicion === 'touched' && elapsedSince(this.options.clock, this.doneAt) >= beatMs);
  }

  /** Answers what is pending and unknown. */
  async run(): Promise<readonly PendingEntry[]> {
    const { store, clock, place, worker } = this.options;
    this.suspicion = 'none';
    this.doneAt = momentOf(clock);
    const strays: PendingEntry[] = [];
    try {
      for (let after: EntryId | null = null; ;) {
        const page = await store.pendingOf(place, worker, after, PAGE);
        const known = this.options.known();
        strays.push(...page.filter(({ id }) => !known.has(id)));
        const last = page.at(-1);
        if (!last || page.length < PAGE) return strays;
        after = last.id;
      }
    } catch (error) {
      // Nothing can be pending where there is no group.
      if (isStoreFault(error, 'noGroup')) return [];
      this.suspicion = 'failed';
      throw error;
    }
  }
}
