import { attemptOf } from '../handlers/message.js';
import type { EventOf, Outcome } from '../rillkit.events.js';
import type { Place } from '../store/stream-store.js';
import type { Delivery } from './delivery.js';

const OUTCOMES = { ack: 'acked', retry: 'retried', release: 'released', dead: 'dead' } as const satisfies Record<string, Outcome>;

/** What is told of a handler that has ended, or was given up on. */
export function handledOf({ stream, group }: Place, delivery: Delivery, durationMs: number): EventOf<'handled'> {
  const { verdict, id, number } = delivery;
  const error = verdict && 'error' in verdict ? verdict.error : (delivery.error ?? undefined);
  const outcome = verdict ? OUTCOMES[verdict.is] : 'acked';
  const event = { type: 'handled' as const, stream, group, outcome, durationMs, id, attempt: attemptOf(number) };
  return error === undefined ? event : { ...event, error };
}
