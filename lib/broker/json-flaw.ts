import { types } from 'node:util';

/** Where a body holds something that JSON would change or drop without a word, as a sentence; `null` where it holds nothing of the kind. */
export function jsonFlaw(body: unknown): string | null {
  const flaw = find(body, '');
  if (flaw === null) return null;
  return `body${flaw.path.toReversed().join('')} is ${flaw.what}`;
}

/** The path is gathered on the way back up, from the inside out: a sound body, the usual one, allocates nothing. */
interface Flaw {
  readonly path: string[];
  readonly what: string;
}

function find(value: unknown, key: string): Flaw | null {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? null : { path: [], what: String(value) };
    case 'object':
      if (value === null) return null;
      if (Array.isArray(value)) return inArray(value);
      return isRecord(value) ? inObject(value, key) : null;
    case 'undefined':
      return { path: [], what: 'undefined' };
    case 'function':
    case 'symbol':
      return { path: [], what: `a ${typeof value}` };
    // A bigint that JSON.stringify() has not refused has a toJSON of the application's.
    case 'bigint':
    case 'boolean':
    case 'string':
      break;
  }
  return null;
}

function inObject(value: Readonly<Record<string, unknown>>, key: string): Flaw | null {
  // As a call on the value, since it may look at `this`.
  if (typeof value['toJSON'] === 'function') return asJson(value, value['toJSON'](key));
  const prototype: unknown = Object.getPrototypeOf(value);
  const what = prototype === Object.prototype || prototype === null ? null : unfit(value);
  if (what !== null) return { path: [], what };
  for (const name of Object.keys(value)) {
    const inner = value[name];
    if (inner === undefined) continue;
    const flaw = find(inner, name);
    if (flaw !== null) return within(flaw, /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`);
  }
  return null;
}

function inArray(values: readonly unknown[]): Flaw | null {
  // By index, since a hole would become null too.
  for (let at = 0; at < values.length; at += 1) {
    const flaw = find(values[at], String(at));
    if (flaw !== null) return within(flaw, `[${at}]`);
  }
  return null;
}

function asJson(value: object, json: unknown): Flaw | null {
  if (types.isDate(value) && json === null) return { path: [], what: 'an invalid Date' };
  return json === value ? null : find(json, '');
}

const isRecord = (value: object): value is Readonly<Record<string, unknown>> => !Array.isArray(value);

function within(flaw: Flaw, step: string): Flaw {
  flaw.path.push(step);
  return flaw;
}

/** Objects that JSON would write as `{}`, or as a map of numbers. By their kind, not by `instanceof`: test runners have classes of their own. */
function unfit(value: object): string | null {
  if (types.isMap(value) || types.isWeakMap(value)) return 'a Map';
  if (types.isSet(value) || types.isWeakSet(value)) return 'a Set';
  if (types.isPromise(value)) return 'a Promise';
  if (types.isRegExp(value)) return 'a RegExp';
  if (types.isNativeError(value)) return 'an Error';
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return 'binary data; use the codec bytes()';
  return null;
}
