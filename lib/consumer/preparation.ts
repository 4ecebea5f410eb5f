import { messageIdOf, replayedFor } from '../broker/envelope.js';
import { validate } from '../broker/schema.js';
import type { Envelope } from '../broker/codec.js';
import { attemptOf, Message, type Decidable } from '../handlers/message.js';
import type { DeadLetterReason } from '../broker/dead-letter-fields.js';
import type { Verdict } from '../handlers/verdict.js';
import { isOptions } from '../option-checks.js';
import { BodyError, isRillkitError } from '../rillkit.errors.js';
import type { Delivered, EntryId } from '../store/stream-store.js';
import type { HandlerBinding } from './binding.js';

/** What comes of a delivery before its handler: its message, or a verdict without one. */
export type Prepared = Message | Verdict;

const dead = (reason: DeadLetterReason, error: unknown): Verdict => ({ is: 'dead', reason, error });
const ACK: Verdict = { is: 'ack' };

/** Why a message comes again although its attempts are spent. */
export interface Spent {
  readonly reason: DeadLetterReason;
  readonly error: unknown;
}

/** Who prepares: the same for all deliveries of a subscription. */
export interface Preparer {
  readonly binding: HandlerBinding;
  readonly worker: string;
  readonly spent: (id: EntryId, attempt: number) => Spent;
}

/**
 * Makes a message of an entry, or says why its handler must not run: replayed for another group, not readable, its attempts spent, or not
 * fitting its schema. Answers at once, unless the schema itself takes its time.
 */
export function prepare(by: Preparer, delivered: Delivered, decidable: Decidable): Prepared | Promise<Prepared> {
  const { definition, group, stream, options } = by.binding;
  const replayGroup = replayedFor(delivered.fields);
  if (replayGroup !== undefined && replayGroup !== group) return ACK;

  let envelope: Envelope;
  try {
    envelope = definition.codec.decode(delivered.fields);
    if (!isOptions(envelope)) throw new BodyError(`The codec ${definition.codec.name} answered no envelope.`);
  } catch (error) {
    return dead('undecodable', error);
  }

  const attempt = attemptOf(delivered.number);
  if (attempt > options.maxRetries + 1) {
    const { reason, error } = by.spent(delivered.id, attempt);
    return dead(reason, error);
  }

  const { schema } = definition;
  if (!schema) return messageOf(by, delivered, envelope, envelope.body, decidable);
  const misfit = (error: unknown): Verdict => {
    if (isRillkitError(error, 'RILLKIT_SCHEMA')) return dead('invalid', error);
    // A validator that throws says nothing about the value: that is a failed attempt like any other.
    return attempt > options.maxRetries ? dead('retries', error) : { is: 'retry', delayMs: null, error };
  };
  try {
    const checked = validate(schema, envelope.body, stream);
    if (!(checked instanceof Promise)) return messageOf(by, delivered, envelope, checked, decidable);
    return checked.then((body) => messageOf(by, delivered, envelope, body, decidable), misfit);
  } catch (error) {
    return misfit(error);
  }
}

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

function messageOf(
  { binding: { stream, group }, worker }: Preparer,
  { id, number, fields }: Delivered,
  envelope: Envelope,
  body: unknown,
  decidable: Decidable,
): Message {
  const { type, headers = NO_HEADERS } = envelope;
  return new Message({ id, messageId: messageIdOf(envelope, fields, id), type, body, headers, number, stream, group, worker }, decidable);
}
