/** A copy of plain data and of objects that consist of it, each with its own kind. */
export function copyOf<T>(value: T): T {
  return deepCopy(value, new Map());
}

function deepCopy<T>(value: T, seen: Map<unknown, unknown>): T;
function deepCopy(value: unknown, seen: Map<unknown, unknown>): unknown {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  if (value instanceof Map) {
    const copy = new Map<unknown, unknown>();
    seen.set(value, copy);
    for (const [key, item] of value) copy.set(deepCopy(key, seen), deepCopy(item, seen));
    return copy;
  }
  if (value instanceof Set) {
    const copy = new Set<unknown>();
    seen.set(value, copy);
    for (const item of value) copy.add(deepCopy(item, seen));
    return copy;
  }
  const copy: object = Array.isArray(value) ? [] : Object.create(Object.getPrototypeOf(value));
  seen.set(value, copy);
  for (const [key, item] of Object.entries(value)) Reflect.set(copy, key, deepCopy(item, seen));
  return copy;
}
