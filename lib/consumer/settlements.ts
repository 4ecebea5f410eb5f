import { deadLetterFields } from '../broker/dead-letter-fields.js';
import type { Clock } from '../clock.js';
import { attemptOf, handBacksOf } from '../handlers/message.js';
import type { HandBackReason, RillkitEvents } from '../rillkit.events.js';
import type { ResolvedHandlerOptions } from '../rillkit.options.js';
import type { EntryId, PendingEntry, Place, StreamStore } from '../store/stream-store.js';
import { applyJitter } from './backoff.js';
import type { HandlerBinding } from './binding.js';
import type { Delivery } from './delivery.js';
import type { Due } from './due.js';
import type { Spent } from './preparation.js';
import { Settler, type Answered } from './settler.js';

/** How long a dead letter that the server refused waits, doubling with each hand-back; milliseconds. */
const REFUSED_FIRST_MS = 1_000;
const REFUSED_MAX_MS = 60_000;
/** How many reasons of refused dead letters are kept for their next time. */
const REMEMBERED = 1_000;
/** How long a message waits that came again while its former handler still runs here. */
const STILL_RUNNING_MS = 1_000;

export interface SettlementsOptions {
  readonly store: Pick<StreamStore, 'settle' | 'bury' | 'nudge'>;
  readonly clock: Clock;
  readonly events: RillkitEvents;
  readonly binding: HandlerBinding;
  readonly rules: ResolvedHandlerOptions;
  readonly worker: string;
  readonly due: Due;
  /** Unanswered settlements have become fewer. */
  readonly changed: () => void;
}

/** Turns verdicts into settlements, and their answers into events. */
export class Settlements {
  readonly settler: Settler;
  /** One for all: it is called for each message. */
  private readonly acked = this.answered();
  private readonly place: Place;
  private readonly refused = new Map<EntryId, Spent>();
  private nudging = false;

  constructor(private readonly options: SettlementsOptions) {
    const { store, clock, events, binding, rules, worker } = options;
    this.place = { stream: binding.stream, group: binding.group };
    this.settler = new Settler({ ...this.place, store, clock, events, worker, maxHandBacks: rules.maxHandBacks });
  }

  settle(delivery: Delivery): void {
    const { id, number, verdict } = delivery;
    switch (verdict?.is) {
      case undefined:
        return;
      case 'ack':
        return this.settler.add({ id, number, op: 'ack' }, this.acked);
      case 'retry': {
        const delayMs = verdict.delayMs ?? this.backoffMs(attemptOf(number), verdict.error);
        return this.settler.add(
          { id, number, op: 'retry', delayMs },
          this.answered(() => this.options.due.in(delayMs)),
        );
      }
      case 'release':
        return this.release([delivery], verdict.delayMs, delivery.interrupted ?? 'handler');
      case 'dead':
        return this.bury(delivery, verdict.reason, verdict.error);
    }
  }

  handBack(delivered: readonly PendingEntry[], why: HandBackReason): void {
    this.release(delivered, why === 'stillRunning' ? STILL_RUNNING_MS : 0, why);
  }

  /** Acks before the start. */
  ackFirst({ id, number }: Delivery, acked: (may: boolean) => void): void {
    this.settler.add({ id, number, op: 'ack' }, (settled, resent) => {
      this.acked(settled, resent, id);
      acked(settled.is === 'ok');
    });
  }

  /** Why a message comes again although its attempts are spent: as is remembered, else by its number. */
  spent(id: EntryId, attempt: number): Spent {
    return this.refused.get(id) ?? { reason: attempt > this.options.rules.maxRetries + 2 ? 'refused' : 'died', error: undefined };
  }

  private release(entries: readonly PendingEntry[], delayMs: number, why: HandBackReason): void {
    if (entries.length === 0) return;
    const answered = this.answered(delayMs > 0 ? () => this.options.due.in(delayMs) : () => this.nudge());
    for (const { id, number } of entries) this.settler.add({ id, number, op: 'release', delayMs }, answered);
    this.options.events.emit({ type: 'handedBack', ...this.place, count: entries.length, why });
  }

  private bury(delivery: Delivery, reason: Spent['reason'], error: unknown): void {
    const { events, binding, rules, worker, due } = this.options;
    const { id, number, delivered } = delivery;
    const { dlq = {} } = binding.definition.options;
    // A delivery that was not started spent no attempt, whatever its number says.
    const attempts = Math.min(delivery.message ? attemptOf(number) : attemptOf(number) - 1, rules.maxRetries + 1);
    const delayMs = Math.min(REFUSED_MAX_MS, REFUSED_FIRST_MS * 2 ** Math.min(handBacksOf(number), 10));
    const burial = {
      id,
      number,
      entry: delivered.fields,
      why: deadLetterFields({
        place: this.place,
        worker,
        id,
        attempts,
        deliveries: attemptOf(number) + handBacksOf(number),
        reason,
        error,
      }),
      trim: dlq.maxLen === undefined ? undefined : { maxLen: dlq.maxLen, approximate: true },
      maxAgeMs: dlq.maxAgeMs,
      // One more than a death in the last attempt has: so the next delivery is given up without being run, and is known for what it is.
      refused: { delayMs, attempt: rules.maxRetries + 2 },
    };
    this.settler.bury(burial, (settled, resent) => {
      this.acked(settled, resent, id);
      if (settled.is === 'refused') {
        this.remember(id, { reason, error });
        events.emit({ type: 'deadLetterRefused', ...this.place, id, error: settled.error });
        due.in(delayMs);
      } else if (settled.is === 'ok' || (settled.is === 'fenced' && resent)) {
        this.refused.delete(id);
        events.emit({ type: 'deadLettered', ...this.place, id, reason, attempts, error });
      }
    });
  }

  private answered(applied?: () => void): Answered {
    return (settled, resent, id) => {
      switch (settled.is) {
        case 'ok':
          applied?.();
          break;
        case 'fenced':
          // Sent again and fenced: it was applied the first time.
          if (resent) applied?.();
          else this.options.events.emit({ type: 'fenced', ...this.place, id, worker: this.options.worker });
          break;
        case 'lost':
          this.options.events.emit({ type: 'lost', ...this.place, count: 1 });
          break;
        case 'refused':
          break;
      }
      this.options.changed();
    };
  }

  private backoffMs(attempt: number, error: unknown): number {
    const { rules, clock, events } = this.options;
    return applyJitter(rules.backoff, attempt, error, clock, (fault) => {
      events.emit({ type: 'callbackFailed', callback: 'backoff', ...this.place, error: fault });
    });
  }

  private remember(id: EntryId, spent: Spent): void {
    this.refused.set(id, spent);
    if (this.refused.size <= REMEMBERED) return;
    for (const oldest of this.refused.keys()) {
      this.refused.delete(oldest);
      return;
    }
  }

  /** Once for all that was handed back in this turn. */
  private nudge(): void {
    this.options.due.in(0);
    if (this.nudging) return;
    this.nudging = true;
    this.options.clock.endOfTurn(() => {
      this.nudging = false;
      this.options.store.nudge(this.place).catch((error: unknown) => {
        this.options.events.emit({ type: 'loopFailed', loop: 'nudge', ...this.place, error, failures: 1 });
      });
    });
  }
}
