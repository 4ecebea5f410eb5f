import { elapsedSince, momentOf, type Clock, type Moment } from '../clock.js';
import { Lease } from '../liveness/lease.js';
import { LeaseLostError, ShutdownError } from '../rillkit.errors.js';
import type { LoopName, RillkitEvents } from '../rillkit.events.js';
import type { ResolvedHandlerOptions, ResolvedOptions } from '../rillkit.options.js';
import { compareIds } from '../store/entry-id.js';
import type { Delivered, EntryId, GroupStart, Place, StreamStore, Taken } from '../store/stream-store.js';
import { Audit } from './audit.js';
import type { HandlerBinding } from './binding.js';
import { Dispatcher, type Plan } from './dispatcher.js';
import { Due } from './due.js';
import { handledOf } from './handled.js';
import { ReadAhead } from './read-ahead.js';
import { Settlements } from './settlements.js';
import { Trouble } from './trouble.js';

/** What can be seen of a subscription from outside. */
export interface SubscriptionStatus extends Place {
  readonly worker: string;
  /** The handler's id. */
  readonly handler: string;
  /** Handlers that run, and, with `manual`, messages that wait for a decision. */
  readonly running: number;
  /** Messages that were read ahead. */
  readonly waiting: number;
  /** Settlements without an answer. */
  readonly unanswered: number;
  readonly lease: 'held' | 'lost' | 'none';
  /** Reads that failed in a row; 0 when all is well. */
  readonly failures: number;
  /** Milliseconds since a read last answered; `null` before the first. */
  readonly lastReadAgoMs: number | null;
}

export interface SubscriptionOptions {
  readonly store: StreamStore;
  readonly clock: Clock;
  readonly events: RillkitEvents;
  readonly binding: HandlerBinding;
  readonly worker: string;
  readonly module: ResolvedOptions;
}

/** The longest that a stream goes unasked beside others of its group that are busy, milliseconds. */
const QUIET_MS = 20;

const NOTHING: Plan = { take: 0, read: 0 };

/** One handler bound to one stream and group in this process: its lease, its slots, its settlements, and what its reader needs to know. */
export class Subscription implements Place {
  readonly stream: string;
  readonly group: string;
  readonly worker: string;
  readonly rules: ResolvedHandlerOptions;
  readonly lease: Lease;
  readonly due: Due;
  readonly dispatcher: Dispatcher;
  readonly settlements: Settlements;
  /** Told when slots, room, due messages or the lease have changed. */
  onChange: () => void = () => {};

  private groupMade = false;
  private lastReadId: EntryId | null = null;
  private lastReadAt: Moment | null = null;
  private readonly trouble: Trouble;
  private stopping = false;
  private readonly inquiry: Audit;

  constructor(private readonly options: SubscriptionOptions) {
    const { store, clock, events, binding, worker, module } = options;
    this.stream = binding.stream;
    this.group = binding.group;
    this.worker = worker;
    this.rules = { ...binding.options, retryIf: (error, message) => this.worthARetry(error, message) };
    const changed = (): void => this.onChange();
    this.lease = new Lease(clock, module.liveness.leaseMs, () => this.leaseLost());
    this.due = new Due(clock, () => {
      this.dispatcher.fill();
      changed();
    });
    const { rules, due } = this;
    this.settlements = new Settlements({ store, clock, events, binding, rules, worker, due, changed });
    const place: Place = { stream: binding.stream, group: binding.group };
    this.trouble = new Trouble({ clock, events, place, onOver: changed });
    this.inquiry = new Audit({
      store,
      clock,
      place,
      worker,
      known: () => new Set([...this.dispatcher.known(), ...this.settlements.settler.known()]),
    });
    this.dispatcher = new Dispatcher({
      binding,
      rules,
      worker,
      clock,
      abortMs: module.shutdown.abortMs,
      due,
      readAhead: new ReadAhead(binding.options, clock),
      ends: {
        mayStart: () => !this.stopping && this.lease.held,
        settle: (delivery) => this.settlements.settle(delivery),
        handBack: (delivered, why) => this.settlements.handBack(delivered, why),
        ackFirst: (delivery, acked) => this.settlements.ackFirst(delivery, acked),
        handled: (delivery, durationMs) => events.emit(handledOf(this, delivery, durationMs)),
        changed,
        spent: (id, attempt) => this.settlements.spent(id, attempt),
      },
    });
  }

  /** What is to be asked for now. */
  get plan(): Plan {
    if (this.stopping || this.trouble.isWaiting || !this.lease.held) return NOTHING;
    return this.dispatcher.plan(this.settlements.settler.unanswered);
  }

  get status(): SubscriptionStatus {
    const { clock, binding } = this.options;
    return {
      stream: this.stream,
      group: this.group,
      worker: this.worker,
      handler: binding.options.id,
      running: this.dispatcher.running,
      waiting: this.dispatcher.waitingCount,
      unanswered: this.settlements.settler.unanswered,
      lease: this.lease.state,
      failures: this.trouble.failures,
      lastReadAgoMs: this.lastReadAt && elapsedSince(clock, this.lastReadAt),
    };
  }

  /** Whether every read and take is known to have ended: none that failed may still be on its way to the server. */
  get sure(): boolean {
    return !this.inquiry.suspected;
  }

  /** Whether its stream has not been asked for so long that it should be. */
  get isQuiet(): boolean {
    return this.lastReadAt === null || elapsedSince(this.options.clock, this.lastReadAt) >= QUIET_MS;
  }

  /** Makes the group where it is not there; made again, it begins where this process stopped reading, if that entry still exists. */
  async ensureGroup(): Promise<void> {
    if (this.groupMade) return;
    const { store, events } = this.options;
    const from = await this.groupStart();
    const again = this.lastReadId !== null;
    const made = await store.ensureGroup(this, from);
    this.groupMade = true;
    this.dispatcher.more = true;
    const fromText = typeof from === 'string' ? from : from.after;
    if (made === 'created') events.emit({ type: 'groupMade', stream: this.stream, group: this.group, again, from: fromText });
  }

  /** Whether to {@link audit} now. */
  auditIsDue(beatMs: number): boolean {
    return !this.stopping && !this.trouble.isWaiting && this.lease.held && this.inquiry.isDue(beatMs);
  }

  /** Hands back what is pending for this worker and unknown to it. */
  async audit(): Promise<void> {
    this.settlements.handBack(await this.inquiry.run(), 'audit');
  }

  /** New messages have come for `asked`. */
  arrived(messages: readonly Delivered[], asked: number): void {
    this.answered('read');
    const [first] = messages;
    const last = messages.at(-1);
    // Redis hands each entry out once, in order; only a group that was made again may begin before what was read.
    const again = first !== undefined && this.lastReadId !== null && compareIds(first.id, this.lastReadId) <= 0;
    if (last) {
      this.lastReadId = last.id;
      this.inquiry.touch();
    }
    if (this.stopping || !this.lease.held) this.settlements.handBack(messages, this.stopping ? 'shutdown' : 'leaseLost');
    else this.dispatcher.read(messages, asked, again);
  }

  /** Due messages have come. */
  taken({ messages, lost, nextDueMs }: Taken): void {
    this.answered('take');
    if (messages.length > 0) this.inquiry.touch();
    if (lost.length > 0) this.options.events.emit({ type: 'lost', stream: this.stream, group: this.group, count: lost.length });
    this.due.answered(nextDueMs);
    const mayStart = !this.stopping && this.lease.held;
    if (!mayStart) this.settlements.handBack(messages, this.stopping ? 'shutdown' : 'leaseLost');
    this.dispatcher.taken(mayStart ? messages : []);
  }

  /** A call for this subscription failed: what it may have delivered is looked for, and the next waits a little. */
  failed(loop: LoopName, error: unknown): void {
    this.inquiry.suspect();
    this.groupMade = false;
    const putOffMs = this.trouble.failed(loop, error);
    if (putOffMs !== null) this.due.postponed(putOffMs);
    this.dispatcher.failed();
  }

  /** This one is asked for itself next: others of its group are busy, or a read on several failed for one of them. */
  readAlone(): void {
    this.dispatcher.more = true;
  }

  /** Something pending for this worker may be unknown to it. */
  suspect(): void {
    this.inquiry.suspect();
    this.onChange();
  }

  /** The lease is held again: what was interrupted and still runs has lost its message. */
  regained(): void {
    this.dispatcher.giveUpInterrupted();
    this.suspect();
  }

  /** Reads and starts nothing from now on; what waits is handed back. */
  drain(): void {
    if (this.stopping) return;
    this.stopping = true;
    this.due.stop();
    this.settlements.handBack(this.dispatcher.dropWaiting(), 'shutdown');
  }

  /** Aborts the handlers' signals: the shutdown's grace is over. */
  interrupt(): void {
    this.dispatcher.interrupt('shutdown', new ShutdownError());
  }

  /** Hands back what still runs; answers which. */
  abandon(): readonly EntryId[] {
    return this.dispatcher.giveUpInterrupted();
  }

  stop(): void {
    this.stopping = true;
    this.trouble.stop();
    this.due.stop();
    this.lease.stop();
    this.settlements.settler.stop();
  }

  private async groupStart(): Promise<GroupStart> {
    const after = this.lastReadId;
    if (after !== null && (await this.options.store.hasEntry(this.stream, after))) return { after };
    const { startFrom } = this.rules;
    return startFrom === 'beginning' || startFrom === 'new' ? startFrom : { after: startFrom };
  }

  private answered(loop: 'read' | 'take'): void {
    this.lastReadAt = momentOf(this.options.clock);
    this.trouble.answered(loop);
  }

  private leaseLost(): void {
    const { events } = this.options;
    this.dispatcher.dropWaiting();
    this.dispatcher.interrupt('leaseLost', new LeaseLostError());
    events.emit({ type: 'leaseLost', stream: this.stream, group: this.group, worker: this.worker });
    this.onChange();
  }

  private worthARetry(error: unknown, message: Parameters<ResolvedHandlerOptions['retryIf']>[1]): boolean {
    try {
      return this.options.binding.options.retryIf(error, message);
    } catch (fault) {
      // What cannot be judged is tried again: giving a message up is the choice that cannot be taken back.
      const { stream, group } = this;
      this.options.events.emit({ type: 'callbackFailed', callback: 'retryIf', stream, group, error: fault });
      return true;
    }
  }
}
