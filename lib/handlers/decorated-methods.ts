import { definitionsOf, isDecoratedAt, type StreamHandlerDefinition } from './stream-handler.decorator.js';

export type DecoratedMethod = { readonly key: string | symbol } & (
  | { readonly is: 'handler'; readonly method: object; readonly definitions: readonly StreamHandlerDefinition[] }
  /** An override without the decorator that the method of `base` has. */
  | { readonly is: 'overridden'; readonly base: string }
  /** Another decorator, written above, has put a function of its own in the method's place. */
  | { readonly is: 'wrapped' }
);

/**
 * The methods of a prototype and those it inherits that carry, or should carry, `@StreamHandler()`; each name once, the most derived one.
 * Getters are not called. Nest's MetadataScanner answers names only, and neither symbols nor what an override has hidden.
 */
export function decoratedMethods(prototype: object | null): readonly DecoratedMethod[] {
  const found = new Map<string | symbol, DecoratedMethod>();
  const undecorated = new Set<string | symbol>();
  for (const level of levelsOf(prototype)) {
    for (const key of Reflect.ownKeys(level)) {
      if (key === 'constructor' || found.has(key)) continue;
      const method: unknown = Object.getOwnPropertyDescriptor(level, key)?.value;
      const definitions = typeof method === 'function' ? definitionsOf(method) : [];
      const decorated = definitions.length > 0 || isDecoratedAt(level, key);
      if (decorated && undecorated.has(key)) found.set(key, { is: 'overridden', key, base: classNameOf(level) });
      else if (typeof method === 'function' && definitions.length > 0) found.set(key, { is: 'handler', key, method, definitions });
      else if (decorated) found.set(key, { is: 'wrapped', key });
      else undecorated.add(key);
    }
  }
  return [...found.values()];
}

/** The static methods of a class, and those it inherits, that carry `@StreamHandler()`. */
export function decoratedStatics(type: object): readonly (string | symbol)[] {
  const keys = levelsOf(type).flatMap((level) => Reflect.ownKeys(level).filter((key) => isDecoratedAt(level, key)));
  return [...new Set(keys)];
}

/** The class whose prototype this is; the prototype itself where nothing says. */
export function classOf(prototype: object): object {
  const type: unknown = Reflect.get(prototype, 'constructor');
  return typeof type === 'function' ? type : prototype;
}

export function classNameOf(prototype: object): string {
  const type = classOf(prototype);
  return typeof type === 'function' && type.name !== '' ? type.name : '(anonymous class)';
}

/** `start` and its prototypes, without those that every object or function has. */
function levelsOf(start: object | null): readonly object[] {
  const levels: object[] = [];
  for (
    let level = start;
    level !== null && level !== Object.prototype && level !== Function.prototype;
    level = Reflect.getPrototypeOf(level)
  ) {
    levels.push(level);
  }
  return levels;
}
