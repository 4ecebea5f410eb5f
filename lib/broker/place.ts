import { named } from '../option-checks.js';
import { OptionError } from '../rillkit.errors.js';
import { checkGroupName } from '../store/names.js';
import type { Place } from '../store/stream-store.js';
import { Stream } from './stream.js';

/** A stream as it is named in a call: itself, or its name, which stands for a stream without schema whose bodies are JSON. */
export type StreamOrName<Out = unknown, In = Out> = Stream<Out, In> | string;

/** @throws NameError for a name that no stream can have. */
export const toStream = (stream: StreamOrName): Stream => (typeof stream === 'string' ? new Stream(stream) : stream);

/**
 * The stream and group that a question is about: the group given, else the stream's, else the module's.
 * @throws OptionError where none of them names one.
 */
export function placeOf(stream: Stream, given: string | undefined, moduleGroup: string | null): Place {
  const group = given === undefined ? (stream.options.group ?? moduleGroup) : named('group', given, checkGroupName);
  if (group !== null) return { stream: stream.name, group };
  throw new OptionError('group', `must be given: neither the stream "${stream.name}" nor the module names one`);
}
