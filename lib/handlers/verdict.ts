import type { DeadLetterReason } from '../broker/dead-letter-fields.js';
import type { ResolvedHandlerOptions } from '../rillkit.options.js';
import { RejectMessage, RetryMessage, type Decision, type Message } from './message.js';

/** What becomes of a delivery. */
export type Verdict =
  | { readonly is: 'ack' }
  /** `delayMs` null: by the backoff. */
  | { readonly is: 'retry'; readonly delayMs: number | null; readonly error: unknown }
  | { readonly is: 'release'; readonly delayMs: number }
  | { readonly is: 'dead'; readonly reason: DeadLetterReason; readonly error: unknown };

/** How a handler's run came to its end. */
export type Ending =
  | { readonly is: 'returned' }
  | { readonly is: 'threw'; readonly error: unknown }
  /** It failed because its lease was lost or the shutdown's grace was over: not its own fault. */
  | { readonly is: 'interrupted' };

type Rules = Pick<ResolvedHandlerOptions, 'ackPolicy' | 'maxRetries' | 'retryIf'>;

const ACK: Verdict = { is: 'ack' };

/** A failed attempt: again, as long as there are attempts left. `delayMs` null: by the backoff. */
const failed = (rules: Rules, message: Message, delayMs: number | null, error: unknown): Verdict =>
  message.attempt > rules.maxRetries ? { is: 'dead', reason: 'retries', error } : { is: 'retry', delayMs, error };

/** What the handler's own word means. */
export function verdictOfDecision(rules: Rules, message: Message, decision: Decision): Verdict {
  switch (decision.is) {
    case 'ack':
      return ACK;
    case 'nack':
      return failed(rules, message, decision.delayMs ?? null, new Error('The handler called message.nack().'));
    case 'release':
      return { is: 'release', delayMs: decision.delayMs ?? 0 };
    case 'reject':
      return { is: 'dead', reason: 'rejected', error: new RejectMessage(decision.reason) };
  }
}

/** What the end of a handler that said nothing means; `null` where it has to say something still (`manual`). */
export function verdictOfEnding(rules: Rules, message: Message, ending: Ending): Verdict | null {
  switch (ending.is) {
    case 'returned':
      return rules.ackPolicy === 'manual' ? null : ACK;
    case 'interrupted':
      return { is: 'release', delayMs: 0 };
    case 'threw':
      return verdictOfError(rules, message, ending.error);
  }
}

/** Whether a handler that threw this has decided by it. */
export const isDecision = (error: unknown): boolean => error instanceof RejectMessage || error instanceof RetryMessage;

function verdictOfError(rules: Rules, message: Message, error: unknown): Verdict {
  if (error instanceof RejectMessage) return { is: 'dead', reason: 'rejected', error };
  if (error instanceof RetryMessage) return failed(rules, message, error.delayMs ?? null, error);
  if (rules.ackPolicy === 'ackAlways') return ACK;
  if (!rules.retryIf(error, message)) return { is: 'dead', reason: 'notRetryable', error };
  return failed(rules, message, null, error);
}
