import { Stream } from '../broker/stream.js';
import type { HandlerBinding } from '../consumer/binding.js';
import { DuplicateHandlerError, HandlerError, NameError } from '../rillkit.errors.js';
import { resolveHandlerOptions, type ResolvedOptions } from '../rillkit.options.js';
import type { FoundHandler } from './explorer.js';

/**
 * Gives each handler its stream, its group and its options.
 *
 * @throws HandlerError without a group, DuplicateHandlerError for two of one stream and group, NameError for streams that would meet in one
 * key, OptionError for a wrong option.
 */
export function bind(handlers: readonly FoundHandler[], options: ResolvedOptions): readonly HandlerBinding[] {
  const takenBy = new Map<string, FoundHandler>();
  const bindings = handlers.map((handler) => {
    const binding = bindOne(handler, options);
    const place = JSON.stringify([binding.stream, binding.group]);
    const first = takenBy.get(place);
    if (first) throw new DuplicateHandlerError(binding.stream, binding.group, refOf(first), refOf(handler));
    takenBy.set(place, handler);
    return binding;
  });
  refuseMeetingNames(new Set(bindings.map((binding) => binding.stream)));
  return bindings;
}

function bindOne(handler: FoundHandler, options: ResolvedOptions): HandlerBinding {
  const definition = typeof handler.stream === 'string' ? new Stream(handler.stream) : handler.stream;
  const group = handler.options.group ?? definition.options.group ?? options.defaults.group ?? options.group;
  if (group === null) {
    throw new HandlerError(
      `${handler.name} handles "${definition.name}" in no group. Name one in @StreamHandler("${definition.name}", { group }), in new Stream("${definition.name}", { group }), or for all in RillkitModule.forRoot({ group }).`,
    );
  }
  return {
    stream: definition.name,
    group,
    definition,
    options: resolveHandlerOptions(handler.options, { id: handler.name, stream: definition, defaults: options.defaults }),
    invoke: handler.invoke,
  };
}

const refOf = (handler: FoundHandler): string => (handler.host ? `${handler.name} (${handler.host.name})` : handler.name);

/** `orders-dlq` holds the dead letters of `orders`; and on a Cluster `orders` is stored under `{orders}`, its dead letters under `{orders}-dlq`. */
function refuseMeetingNames(names: ReadonlySet<string>): void {
  for (const name of names) {
    if (names.has(`${name}-dlq`)) {
      throw new NameError(
        `"${name}-dlq" is where the dead letters of "${name}" go; no stream of that name can be handled beside it. Rename one of them.`,
      );
    }
    for (const meeting of [`{${name}}`, `{${name}}-dlq`]) {
      if (!names.has(meeting)) continue;
      throw new NameError(
        `"${name}" and "${meeting}" meet in one key on a Cluster; they cannot be handled in one application. Rename one of them.`,
      );
    }
  }
}
