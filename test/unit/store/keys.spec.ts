import { describe, expect, it } from 'vitest';
import { NameError } from '../../../lib/rillkit.errors.js';
import { checkGroupName, checkStreamName, checkWorkerName } from '../../../lib/store/names.js';
import { Keys } from '../../../lib/store/redis/keys.js';

const single = new Keys(false);
const cluster = new Keys(true);

/** All keys of a stream, a group and a worker. */
const keysOf = (keys: Keys, stream: string, group: string, worker: string): string[] => [
  keys.stream(stream),
  keys.deadLetters(stream),
  keys.leases({ stream, group }),
  keys.parked({ stream, group }),
  keys.heartbeat({ stream, group }, worker),
];

/** What Redis hashes of a key, by its cluster specification; equal texts are one slot. */
function hashed(key: string): string {
  const open = key.indexOf('{');
  if (open < 0) return key;
  const close = key.indexOf('}', open + 1);
  return close === -1 || close === open + 1 ? key : key.slice(open + 1, close);
}

/** Every text of up to `length` of the characters that separate, tag or match in keys, and a plain one. */
function* awkwardNames(length: number): Generator<string> {
  if (length === 0) return;
  for (const char of ['a', ':', '{', '}', '*', '%', '3A']) {
    yield char;
    for (const rest of awkwardNames(length - 1)) yield char + rest;
  }
}

describe('keys on a single server', () => {
  it('are what an operator expects', () => {
    expect(keysOf(single, 'orders', 'billing', 'w1')).toEqual([
      'orders',
      'orders-dlq',
      'rillkit:leases:orders:billing',
      'rillkit:parked:orders:billing',
      'rillkit:workers:orders:billing:w1',
    ]);
    expect(single.nudges('billing')).toBe('rillkit:nudge:billing');
  });

  it('leave plain names, spaces and other alphabets as they are', () => {
    expect(single.heartbeat({ stream: 'my orders', group: 'größe' }, 'läufer-1.2_3')).toBe('rillkit:workers:my orders:größe:läufer-1.2_3');
  });

  it('code what would separate or match', () => {
    expect(single.heartbeat({ stream: 'a:b', group: 'c*d' }, 'e}f%g')).toBe('rillkit:workers:a%3Ab:c%2Ad:e%7Df%25g');
  });
});

describe('keys on a cluster', () => {
  it('put a name without a tag into one', () => {
    expect(keysOf(cluster, 'orders', 'billing', 'w1')).toEqual([
      '{orders}',
      '{orders}-dlq',
      'rillkit:leases:{orders}:billing',
      'rillkit:parked:{orders}:billing',
      'rillkit:workers:{orders}:billing:w1',
    ]);
  });

  it('leave a tag as it was given', () => {
    expect(keysOf(cluster, 'shop:{orders:0}:new', 'g', 'w')).toEqual([
      'shop:{orders:0}:new',
      'shop:{orders:0}:new-dlq',
      'rillkit:leases:shop%3A{orders:0}%3Anew:g',
      'rillkit:parked:shop%3A{orders:0}%3Anew:g',
      'rillkit:workers:shop%3A{orders:0}%3Anew:g:w',
    ]);
  });

  it('refuse the one name that no tag can be made of', () => {
    expect(() => cluster.stream('}orders')).toThrow(NameError);
  });

  it('of one stream all live in one slot, however awkward its name', () => {
    for (const name of awkwardNames(4)) {
      if (name.startsWith('}')) continue;
      const slots = new Set(keysOf(cluster, name, ':{x}', '{y}').map(hashed));
      expect({ name, slots: slots.size }).toEqual({ name, slots: 1 });
    }
  });
});

describe.each([
  ['on a single server', single],
  ['on a cluster', cluster],
])('two names %s', (_where, keys) => {
  it('never meet in one helper key, whichever of the three they are', () => {
    const names = [...awkwardNames(2)].filter((name) => !name.startsWith('}'));
    const owners = new Map<string, string>();
    let doubles = 0;
    for (const stream of names) {
      for (const group of names) {
        for (const worker of names) {
          // The stream's key is what counts: on a cluster `a` and `{a}` are one stream, which is refused elsewhere.
          const owner = JSON.stringify([keys.stream(stream), group, worker]);
          const key = keys.heartbeat({ stream, group }, worker);
          if (owners.has(key) && owners.get(key) !== owner) doubles += 1;
          owners.set(key, owner);
        }
      }
    }
    expect(doubles).toBe(0);
    expect(owners.size).toBeGreaterThan(50_000);
  });
});

describe('names', () => {
  it.each([
    ['an empty one', ''],
    ['no text', 7],
    ['none', undefined],
    ['half of a character', 'a\uD800'],
  ])('of %s are refused', (_what, name) => {
    for (const check of [checkStreamName, checkGroupName, checkWorkerName]) expect(() => check(name)).toThrow(NameError);
  });

  it('of the library are refused', () => {
    expect(() => checkGroupName('~parked')).toThrow(/must not begin with "~"/);
    expect(() => checkWorkerName('~parked')).toThrow(/must not begin with "~"/);
    expect(() => checkStreamName('rillkit:leases:a:b')).toThrow(/must not begin with "rillkit:"/);
  });

  it('with anything else in them are taken', () => {
    for (const name of ['orders', 'a:b', '{a}', '*', 'my orders', '注文', '😀', 'a~b', '0']) {
      checkStreamName(name);
      checkGroupName(name);
      checkWorkerName(name);
      expect(single.stream(name)).toBe(name);
    }
  });
});
