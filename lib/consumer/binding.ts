import type { Stream } from '../broker/stream.js';
import type { Message } from '../handlers/message.js';
import type { ResolvedHandlerOptions } from '../rillkit.options.js';
import type { Place } from '../store/stream-store.js';

/** A handler method, bound to one stream and group: what consumption needs to know of it, and nothing of Nest. */
export interface HandlerBinding extends Place {
  readonly definition: Stream;
  readonly options: ResolvedHandlerOptions;
  /** Runs the handler. What it answers is awaited; what it throws or rejects with is the attempt's error. */
  readonly invoke: (body: unknown, message: Message) => unknown;
}
