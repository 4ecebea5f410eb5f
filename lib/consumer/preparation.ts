import { messageIdOf, replayedFor } from '../broker/envelope.js';
import { validate } from '../broker/schema.js';
import type { Envelope } from '../broker/codec.js';
import { attemptOf, Message, type Decidable } from '../handlers/message.js';
import type { DeadLetterReason } from '../broker/dead-letter-fields.js';
import type { Verdict } from '../handlers/verdict.js';
import { isRillkitError } from '../rillkit.errors.js';
import type { Delivered } from '../store/stream-store.js';
import type { HandlerBinding } from './binding.js';

export type Prepared = { readonly is: 'ready'; readonly message: Message } | { readonly is: 'over'; readonly verdict: Verdict };

const over = (reason: DeadLetterReason, error: unknown): Prepared => ({ is: 'over', verdict: { is: 'dead', reason, error } });

/** Why a message comes again although its attempts are spent. */
export interface Spent {
  readonly reason: DeadLetterReason;
  readonly error: unknown;
}

/**
 * Makes a message of an entry, or says why its handler must not run: replayed for another group, not readable, its attempts spent, or not
 * fitting its schema. Answers at once, unless the schema itself takes its time.
 */
export function prepare(
  delivered: Delivered,
  binding: HandlerBinding,
  worker: string,
  decidable: Decidable,
  spent: (attempt: number) => Spent,
): Prepared | Promise<Prepared> {
  const { definition, stream, group, options } = binding;
  const replayGroup = replayedFor(delivered.fields);
  if (replayGroup !== undefined && replayGroup !== group) return { is: 'over', verdict: { is: 'ack' } };

  let envelope: Envelope;
  let messageId: string;
  try {
    envelope = definition.codec.decode(delivered.fields);
    // A codec of the application's may answer what is no envelope at all.
    messageId = messageIdOf(envelope, delivered.fields, delivered.id);
  } catch (error) {
    return over('undecodable', error);
  }

  const attempt = attemptOf(delivered.number);
  if (attempt > options.maxRetries + 1) {
    const { reason, error } = spent(attempt);
    return over(reason, error);
  }

  const ready = (body: unknown): Prepared => ({
    is: 'ready',
    message: new Message(
      {
        id: delivered.id,
        messageId,
        type: envelope.type,
        body,
        headers: envelope.headers ?? {},
        number: delivered.number,
        stream,
        group,
        worker,
      },
      decidable,
    ),
  });
  const { schema } = definition;
  if (!schema) return ready(envelope.body);
  // A validator that throws says nothing about the value: that is a failed attempt like any other.
  const misfit = (error: unknown): Prepared => {
    if (isRillkitError(error, 'RILLKIT_SCHEMA')) return over('invalid', error);
    return attempt > options.maxRetries ? over('retries', error) : { is: 'over', verdict: { is: 'retry', delayMs: null, error } };
  };
  try {
    const checked = validate(schema, envelope.body, stream);
    return checked instanceof Promise ? checked.then(ready, misfit) : ready(checked);
  } catch (error) {
    return misfit(error);
  }
}
