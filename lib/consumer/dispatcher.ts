import type { Cancel, Clock } from '../clock.js';
import { Message } from '../handlers/message.js';
import { Idle } from '../idle.js';
import type { ResolvedHandlerOptions } from '../rillkit.options.js';
import type { Delivered, EntryId } from '../store/stream-store.js';
import type { HandlerBinding } from './binding.js';
import { Delivery, type DeliveryKeeper, type Interruption } from './delivery.js';
import type { Due } from './due.js';
import { prepare, type Prepared, type Preparer, type Spent } from './preparation.js';
import type { ReadAhead } from './read-ahead.js';
import { Slots } from './slots.js';

/** What the dispatcher leaves to others: the end of a message, and the news that something has changed. */
export interface DispatcherEnds {
  /** Whether a handler may start now: the lease is held, nothing is being stopped. */
  mayStart(): boolean;
  settle(delivery: Delivery): void;
  /** Hands a message back that was never started. */
  handBack(delivered: readonly Delivered[], why: 'stalled' | 'stillRunning'): void;
  /** Acks before the start (`ackFirst`). `may` false: it is another's, or was acked before. */
  ackFirst(delivery: Delivery, acked: (may: boolean) => void): void;
  /** A handler has ended, or was given up on. */
  handled(delivery: Delivery, durationMs: number): void;
  /** Slots or room may have become free. */
  changed(): void;
  spent(id: EntryId, attempt: number): Spent;
}

export interface DispatcherOptions {
  readonly binding: HandlerBinding;
  readonly rules: ResolvedHandlerOptions;
  readonly worker: string;
  readonly clock: Clock;
  readonly abortMs: number;
  readonly due: Due;
  readonly readAhead: ReadAhead;
  readonly ends: DispatcherEnds;
}

/** How many messages to ask for. */
export interface Plan {
  readonly take: number;
  readonly read: number;
}

/**
 * The slots of one subscription. Three bounds are kept apart: running handlers (`concurrency`), messages that were read and have not ended
 * (`concurrency` and what is read ahead), settlements without an answer. Messages that are due are taken for free slots only, and while some
 * are known nothing is read ahead; freed slots go in turn to them and to new ones, so that neither starves.
 */
export class Dispatcher implements DeliveryKeeper {
  readonly invoke: HandlerBinding['invoke'];
  readonly rules: ResolvedHandlerOptions;
  readonly clock: Clock;
  readonly abortMs: number;
  /** Whether the last read brought all that was asked for, so that there may be more. */
  more = true;
  /** Whether a slot is taken. */
  readonly idle = new Idle(() => this.slots.size === 0);

  private readonly preparer: Preparer;
  private readonly waiting: Delivered[] = [];
  private waitingSinceMs = 0;
  private readonly slots = new Slots();
  /** Free slots that are kept for a take. */
  private kept = 0;
  private turnOfDue = true;
  private filling = false;
  private cancelStall: Cancel | null = null;

  constructor(private readonly options: DispatcherOptions) {
    this.invoke = options.binding.invoke;
    this.rules = options.rules;
    this.clock = options.clock;
    this.abortMs = options.abortMs;
    const { binding, worker, ends } = options;
    this.preparer = { binding, worker, spent: (id, attempt) => ends.spent(id, attempt) };
  }

  get running(): number {
    return this.slots.size;
  }

  get waitingCount(): number {
    return this.waiting.length;
  }

  /** The entries that this process has and has not decided on. */
  known(): Set<EntryId> {
    const ids = this.slots.undecided();
    for (const { id } of this.waiting) ids.add(id);
    return ids;
  }

  plan(unanswered: number): Plan {
    const { concurrency, count } = this.rules;
    const answerable = 2 * Math.max(count, concurrency) - unanswered;
    if (answerable <= 0) return { take: 0, read: 0 };
    const ahead = this.options.due.known ? 0 : this.options.readAhead.allowance;
    const most = concurrency + ahead;
    // Half of what may be unfinished is on its way while the other half is worked on, so that neither side waits for the other.
    const halved = ahead > 0 && this.rules.prefetch === 'auto';
    const portion = Math.min(count, halved ? Math.ceil(most / 2) : most);
    const read = Math.min(portion, answerable, most - this.slots.size - this.kept - this.waiting.length);
    // As long as something waits there is no hurry, so that reads stay large.
    const worthwhile = this.waiting.length === 0 || read >= portion / 2;
    return { take: Math.min(this.kept, count), read: worthwhile ? Math.max(0, read) : 0 };
  }

  /** New messages have come. `again`: they may have been read before, by a group that is gone. */
  read(arrived: readonly Delivered[], asked: number, again: boolean): void {
    const messages = again ? this.withoutRunning(arrived) : arrived;
    this.more = arrived.length >= asked;
    this.turnOfDue = true;
    if (this.waiting.length === 0) this.waitingSinceMs = this.clock.monotonicMs();
    for (const message of messages) this.waiting.push(message);
    // At the end of the turn, when the next read is on its way; or was not worthwhile until what came has left its place.
    this.clock.endOfTurn(() => {
      this.fill();
      this.options.ends.changed();
    });
  }

  /** Messages that were due have come, or none; the slots kept for them are free for others. */
  taken(messages: readonly Delivered[]): void {
    this.kept = 0;
    this.filling = true;
    for (const message of this.withoutRunning(messages)) this.start(message);
    this.filling = false;
    this.fill();
  }

  /** A take, or a read, has failed: no slot is kept for its answer. */
  failed(): void {
    this.kept = 0;
    this.more = true;
    this.fill();
  }

  /** Gives free slots to what waits for one. */
  fill(): void {
    // A handler that ends at once frees its slot while it is being started.
    if (this.filling) return;
    this.filling = true;
    this.keepForDue();
    const waited = this.waiting.length;
    while (this.waiting.length > 0 && this.slots.size + this.kept < this.rules.concurrency && this.options.ends.mayStart()) {
      const next = this.waiting.shift();
      if (next) this.start(next);
    }
    // The others have had their turn; where they ended at once, nobody would come by again to keep a slot.
    if (this.kept === 0 && this.waiting.length < waited) this.keepForDue();
    this.filling = false;
    this.watchStall();
  }

  /** Forgets what waits and answers it. */
  dropWaiting(): readonly Delivered[] {
    this.kept = 0;
    this.cancelStall?.();
    this.cancelStall = null;
    return this.waiting.splice(0);
  }

  /** Aborts the signals of all handlers that run; what they throw from now on is not their fault. */
  interrupt(why: Interruption, reason: Error): void {
    for (const delivery of this.slots.all()) delivery.interrupt(why, reason);
  }

  /** Hands back what was interrupted and has not ended; answers what that is. */
  giveUpInterrupted(): readonly EntryId[] {
    const given = this.slots.all().filter((delivery) => delivery.interrupted !== null);
    for (const delivery of given) delivery.giveUp({ is: 'release', delayMs: 0 });
    return given.map((delivery) => delivery.id);
  }

  decided(delivery: Delivery): void {
    this.options.ends.settle(delivery);
  }

  freed(delivery: Delivery): void {
    this.slots.free(delivery);
    if (delivery.message) {
      const nowMs = this.clock.monotonicMs();
      const durationMs = nowMs - delivery.startedMs;
      this.options.readAhead.ended(durationMs, nowMs);
      this.options.ends.handled(delivery, durationMs);
    }
    this.fill();
    this.options.ends.changed();
    this.idle.fell();
  }

  /** Hands back what still runs here from a former delivery: it must not run twice at once. */
  private withoutRunning(messages: readonly Delivered[]): readonly Delivered[] {
    const known = this.known();
    const running = messages.filter(({ id }) => known.has(id));
    if (running.length === 0) return messages;
    this.options.ends.handBack(running, 'stillRunning');
    return messages.filter(({ id }) => !known.has(id));
  }

  private keepForDue(): void {
    if (!this.options.due.known) return;
    const free = this.rules.concurrency - this.slots.size - this.kept;
    if (free <= 0) return;
    const others = this.more || this.waiting.length > 0;
    const share = !others ? free : this.turnOfDue ? Math.ceil(free / 2) : Math.floor(free / 2);
    this.turnOfDue = !this.turnOfDue;
    this.kept += share;
  }

  private start(delivered: Delivered): void {
    const delivery = new Delivery(delivered, this);
    this.slots.take(delivery);
    const prepared = prepare(this.preparer, delivered, delivery);
    if (prepared instanceof Promise) void prepared.then((late) => this.begin(delivery, late));
    else this.begin(delivery, prepared);
  }

  private begin(delivery: Delivery, prepared: Prepared): void {
    // Handed back while its body was still being checked.
    if (delivery.isOver) return;
    if (!(prepared instanceof Message)) return delivery.giveUp(prepared);
    if (!this.options.ends.mayStart()) return delivery.giveUp({ is: 'release', delayMs: 0 });
    if (this.rules.ackPolicy !== 'ackFirst') return delivery.run(prepared, { acked: false });
    this.options.ends.ackFirst(delivery, (may) => {
      // Given up while its ack had no answer.
      if (delivery.isOver) return;
      if (may) delivery.run(prepared, { acked: true });
      else delivery.drop();
    });
  }

  private watchStall(): void {
    if (this.waiting.length === 0) {
      this.cancelStall?.();
      this.cancelStall = null;
      return;
    }
    if (this.cancelStall) return;
    const inMs = this.options.readAhead.stallsInMs(this.waitingSinceMs);
    if (inMs === null) return;
    // Looked at once more at the end of the turn: after a turn that took long, ends that are due come before the judgement.
    this.cancelStall = this.clock.after(inMs, () => this.clock.endOfTurn(() => this.judgeStall()));
  }

  private judgeStall(): void {
    this.cancelStall = null;
    if (this.waiting.length === 0) return;
    if (this.options.readAhead.stallsInMs(this.waitingSinceMs) !== 0) return this.watchStall();
    this.options.readAhead.stall();
    this.options.ends.handBack(this.waiting.splice(0), 'stalled');
  }
}
