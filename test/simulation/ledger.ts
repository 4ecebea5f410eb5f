import type { EntryId } from '../../lib/store/stream-store.js';
import type { SimProcess } from './sim-process.js';

export interface Run {
  readonly id: EntryId;
  readonly number: number;
  readonly process: SimProcess;
  readonly atMs: number;
  readonly epoch: number;
  /** `running` until the handler has ended or said its word. */
  state: 'running' | 'returned' | 'failed' | 'released' | 'rejected';
}

/** How long a delivery may take to its handler: a process may be frozen meanwhile. */
const LONGEST_DELIVERY_MS = 25_000;

/** What was published, which handlers ran, and what excuses a message from ending as it should. */
export class Ledger {
  readonly published: EntryId[] = [];
  readonly runs = new Map<EntryId, Run[]>();
  /** Taken by a foreigner, trimmed, pending in a group that was destroyed, or published after the state that Redis went back to. */
  readonly excused = new Set<EntryId>();
  /** Goes up when Redis itself has lost something: numbers may repeat from then on. */
  epoch = 0;
  /** When it did last; what was delivered before may start this much later, where its process was frozen. */
  lostMs = Number.NEGATIVE_INFINITY;

  /** A handler starts. Answers what is wrong with that, if anything is. */
  start(run: Run): string | null {
    const before = this.runs.get(run.id) ?? [];
    this.runs.set(run.id, [...before, run]);
    const since = before.filter((one) => one.epoch === run.epoch && one.atMs - this.lostMs > LONGEST_DELIVERY_MS);
    const same = since.find((one) => one.number === run.number);
    if (same) return `${run.id} is started a second time with the number ${run.number}`;
    const last = since.at(-1);
    if (!last || last !== before.at(-1) || this.excused.has(run.id)) return null;
    if (last.state === 'failed' || last.state === 'released' || last.state === 'rejected') return null;
    const { process } = last;
    if (process.machine.state === 'dead' || process.stopping || process.lostLeaseMs >= last.atMs || process.lastHarmMs >= last.atMs)
      return null;
    return `${run.id} runs again at ${run.process.worker}, although its run at ${process.worker} (${last.state}) had no reason to end`;
  }

  /** Messages that have neither been handled nor given up. */
  unfinished(deadLetters: ReadonlySet<EntryId>): EntryId[] {
    return this.published.filter((id) => {
      if (this.excused.has(id) || deadLetters.has(id)) return false;
      return !(this.runs.get(id) ?? []).some(({ state }) => state === 'returned');
    });
  }
}
