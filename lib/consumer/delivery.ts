import type { Cancel, Clock } from '../clock.js';
import type { Decidable, Decision, Message } from '../handlers/message.js';
import { isDecision, verdictOfDecision, verdictOfEnding, type Ending, type Verdict } from '../handlers/verdict.js';
import { HandlerTimeoutError } from '../rillkit.errors.js';
import type { Delivered, EntryId } from '../store/stream-store.js';
import type { ResolvedHandlerOptions } from '../rillkit.options.js';
import type { HandlerBinding } from './binding.js';

/** The lease was lost, or the shutdown's grace was over. */
export type Interruption = 'leaseLost' | 'shutdown';

/** The one who handed a delivery its slot. */
export interface DeliveryKeeper {
  readonly invoke: HandlerBinding['invoke'];
  readonly rules: ResolvedHandlerOptions;
  readonly clock: Clock;
  /** How long a handler has after its signal was aborted, milliseconds. */
  readonly abortMs: number;
  /** Called once: its verdict is known, settle it so. */
  decided(delivery: Delivery): void;
  /** Called once, after `decided`: the slot is free. */
  freed(delivery: Delivery): void;
}

/**
 * One message's life in this process: started, decided, its slot free. The first decision wins, and a slot is free when the handler has
 * ended, was given up on, or, with `manual`, has ended and decided.
 */
export class Delivery implements Decidable {
  readonly id: EntryId;
  readonly number: number;
  message: Message | null = null;
  /** What becomes of it; `null` as long as nobody has decided. */
  verdict: Verdict | null = null;
  startedMs = 0;
  /** Its place among the slots; theirs to set. */
  slot = -1;
  /** What the handler threw, also where that does not decide (`ackAlways`, `ackFirst`). */
  error: unknown = null;
  /** What happened while it ran, so that a failure is not its own fault. */
  interrupted: Interruption | null = null;

  private controller: AbortController | null = null;
  private decision: Decision | null = null;
  private ended = false;
  private free = false;
  private cancelTimer: Cancel | null = null;

  constructor(
    readonly delivered: Delivered,
    private readonly keeper: DeliveryKeeper,
  ) {
    this.id = delivered.id;
    this.number = delivered.number;
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    return this.controller.signal;
  }

  /** Runs the handler. `acked`: before it starts, so that its end changes nothing (`ackFirst`). */
  run(message: Message, { acked }: { readonly acked: boolean }): void {
    const { invoke, rules, clock } = this.keeper;
    this.message = message;
    this.startedMs = clock.monotonicMs();
    if (acked) this.verdict = { is: 'ack' };
    const { timeoutMs } = rules;
    if (timeoutMs !== null) this.cancelTimer = clock.after(timeoutMs, () => this.timedOut(timeoutMs));
    try {
      const result = invoke(message.body, message);
      if (isThenable(result)) {
        result.then(
          () => this.end(message, { is: 'returned' }),
          (error: unknown) => this.end(message, { is: 'threw', error }),
        );
        return;
      }
    } catch (error) {
      // Also what only looks like a promise: it may throw when it is asked.
      return this.end(message, { is: 'threw', error });
    }
    this.end(message, { is: 'returned' });
  }

  /** The handler's own word; the first one counts. With `manual` it takes effect at once, else when the handler has ended. */
  decide(decision: Decision): void {
    if (this.decision || this.verdict) return;
    this.decision = decision;
    if (this.keeper.rules.ackPolicy !== 'manual' || !this.message) return;
    this.conclude(verdictOfDecision(this.keeper.rules, this.message, decision));
    if (this.ended) this.letGo();
  }

  /** Aborts the handler's signal and leaves it time to end. */
  interrupt(why: Interruption, reason: Error): void {
    this.interrupted = why;
    this.abort(reason);
  }

  /** Gives up on the handler: whatever it still does changes nothing. What it has decided holds; `verdict` is for one that has not. */
  giveUp(verdict: Verdict): void {
    const { decision, message } = this;
    this.conclude(decision && message ? verdictOfDecision(this.keeper.rules, message, decision) : verdict);
    this.letGo();
  }

  /** Whether its slot is free: nothing that comes later may start it. */
  get isOver(): boolean {
    return this.free;
  }

  /** Never started, and another's to decide on. */
  drop(): void {
    this.letGo();
  }

  private abort(reason: Error): void {
    this.controller ??= new AbortController();
    this.controller.abort(reason);
  }

  private end(message: Message, ending: Ending): void {
    this.ended = true;
    if (this.free) return;
    if (ending.is === 'threw') this.error = ending.error;
    const { rules } = this.keeper;
    const own = ending.is === 'threw' && this.interrupted && !isDecision(ending.error) ? { is: 'interrupted' as const } : ending;
    const verdict = this.decision ? verdictOfDecision(rules, message, this.decision) : verdictOfEnding(rules, message, own);
    if (verdict) this.conclude(verdict);
    if (this.verdict) this.letGo();
  }

  private timedOut(timeoutMs: number): void {
    const error = new HandlerTimeoutError(timeoutMs);
    this.abort(error);
    this.cancelTimer = this.keeper.clock.after(this.keeper.abortMs, () => {
      const { message } = this;
      if (!message || this.free) return;
      const verdict = verdictOfEnding(this.keeper.rules, message, { is: 'threw', error });
      this.giveUp(verdict ?? { is: 'retry', delayMs: null, error });
    });
  }

  private conclude(verdict: Verdict): void {
    if (this.verdict) return;
    this.verdict = verdict;
    this.keeper.decided(this);
  }

  private letGo(): void {
    if (this.free) return;
    this.free = true;
    this.cancelTimer?.();
    this.cancelTimer = null;
    this.keeper.freed(this);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
