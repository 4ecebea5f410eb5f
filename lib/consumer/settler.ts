import { sleep, type Clock } from '../clock.js';
import { Idle } from '../idle.js';
import { loopBackoffMs } from '../loop.js';
import { isStoreFault } from '../rillkit.errors.js';
import type { RillkitEvents } from '../rillkit.events.js';
import {
  MAX_BATCH,
  type Burial,
  type EntryId,
  type Place,
  type Settled,
  type Settlement,
  type StreamStore,
} from '../store/stream-store.js';

/** Told of a settlement's answer, once. `resent`: it had been sent before, so that `fenced` means that it was applied then. */
export type Answered = (settled: Settled, resent: boolean, id: EntryId) => void;

interface Letter<Item extends { readonly id: EntryId } = { readonly id: EntryId }> {
  readonly item: Item;
  /** Whether it was sent before, with an unknown outcome: `fenced` then means that it was applied. */
  resent: boolean;
  readonly answered: Answered;
}

export interface SettlerOptions extends Place {
  readonly store: Pick<StreamStore, 'settle' | 'bury'>;
  readonly clock: Clock;
  readonly events: RillkitEvents;
  readonly worker: string;
  readonly maxHandBacks: number;
}

/**
 * Sends settlements: what finished in the same turn in one call. What is not answered is kept and sent again until it is: sending late
 * is always safe, since every settlement is fenced inside Redis.
 */
export class Settler {
  /** Whether anything is unanswered. */
  readonly idle = new Idle(() => this.open === 0);
  private letters: Letter<Settlement>[] = [];
  private open = 0;
  /** What is on its way. An array, for the reason that `Slots` gives. */
  private readonly onTheirWay: (readonly Letter[])[] = [];
  private readonly backoffMs: (failures: number) => number;
  private failures = 0;
  private waiting = false;
  private scheduled = false;
  private stopped = new AbortController();

  constructor(private readonly options: SettlerOptions) {
    this.backoffMs = loopBackoffMs(options.clock, 50, 500);
  }

  /** How many settlements have no answer yet. */
  get unanswered(): number {
    return this.open;
  }

  /** The entries that have a settlement without an answer. */
  known(): Set<EntryId> {
    const ids = new Set<EntryId>();
    for (const letters of [this.letters, ...this.onTheirWay]) for (const { item } of letters) ids.add(item.id);
    return ids;
  }

  /** Settles `settlement` with everything else of this turn. `answered` is called once, unless the settler is stopped before. */
  add(settlement: Settlement, answered: Answered): void {
    this.open += 1;
    this.letters.push({ item: settlement, resent: false, answered });
    this.schedule();
  }

  /** Puts a message among the dead letters; kept and sent again as a settlement is. */
  bury(burial: Burial, answered: Answered): void {
    this.open += 1;
    void this.sendBurial({ item: burial, resent: false, answered });
  }

  /** Gives up on what is unanswered. */
  stop(): void {
    this.stopped.abort();
    this.letters = [];
    this.open = 0;
  }

  private schedule(): void {
    if (this.scheduled || this.waiting) return;
    this.scheduled = true;
    this.options.clock.endOfTurn(() => {
      this.scheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    while (this.letters.length > 0 && !this.waiting) void this.send(this.letters.splice(0, MAX_BATCH));
  }

  private async send(letters: Letter<Settlement>[]): Promise<void> {
    const { store, worker, maxHandBacks, events, stream, group } = this.options;
    this.onTheirWay.push(letters);
    let answers: readonly Settled[];
    try {
      answers = await store.settle(
        this.options,
        worker,
        maxHandBacks,
        letters.map((letter) => letter.item),
      );
    } catch (error) {
      return this.again(letters, error);
    } finally {
      this.arrived(letters);
    }
    if (this.stopped.signal.aborted) return;
    const refused: Letter<Settlement>[] = [];
    let refusal: unknown;
    letters.forEach((letter, index) => {
      const answer = answers[index];
      if (answer === undefined || answer.is === 'refused') {
        refusal = answer?.error;
        refused.push(letter);
      } else this.close(letter, answer);
    });
    events.emit({ type: 'settled', stream, group, count: letters.length - refused.length });
    if (refused.length > 0) return this.again(refused, refusal);
    if (this.failures > 0) events.emit({ type: 'loopRecovered', loop: 'settle', stream, group, failures: this.failures });
    this.failures = 0;
  }

  private async sendBurial(letter: Letter<Burial>): Promise<void> {
    const { store, worker } = this.options;
    const letters = [letter];
    this.onTheirWay.push(letters);
    for (let failures = 1; !this.stopped.signal.aborted; failures += 1) {
      try {
        const buried = await store.bury(this.options, worker, letter.item);
        this.arrived(letters);
        return this.close(letter, buried);
      } catch (error) {
        if (mayBeApplied(error)) letter.resent = true;
        this.failed(error, failures);
        await sleep(this.options.clock, this.backoffMs(failures), this.stopped.signal);
      }
    }
  }

  private async again(letters: Letter<Settlement>[], error: unknown): Promise<void> {
    if (this.stopped.signal.aborted) return;
    if (mayBeApplied(error)) for (const letter of letters) letter.resent = true;
    this.letters.unshift(...letters);
    if (this.waiting) return;
    this.waiting = true;
    this.failures += 1;
    this.failed(error, this.failures);
    await sleep(this.options.clock, this.backoffMs(this.failures), this.stopped.signal);
    this.waiting = false;
    this.flush();
  }

  private failed(error: unknown, failures: number): void {
    const { events, stream, group } = this.options;
    events.emit({ type: 'loopFailed', loop: 'settle', stream, group, error, failures });
  }

  private arrived(letters: readonly Letter[]): void {
    const at = this.onTheirWay.indexOf(letters);
    if (at >= 0) this.onTheirWay.splice(at, 1);
  }

  private close(letter: Letter, settled: Settled): void {
    if (this.stopped.signal.aborted) return;
    this.open -= 1;
    letter.answered(settled, letter.resent, letter.item.id);
    this.idle.fell();
  }
}

/** All but what never left: a script that failed may have gone half of its way. */
const mayBeApplied = (error: unknown): boolean => !isStoreFault(error, 'unavailable') || error.applied !== 'no';
