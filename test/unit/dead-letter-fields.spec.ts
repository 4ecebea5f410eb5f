import { describe, expect, it } from 'vitest';
import { deadLetterFields } from '../../lib/broker/dead-letter-fields.js';

const fieldsOf = (error: unknown): Record<string, string> =>
  Object.fromEntries(
    deadLetterFields({
      place: { stream: 'orders', group: 'billing' },
      worker: 'w1',
      id: '5-1',
      attempts: 4,
      deliveries: 6,
      reason: 'retries',
      error,
    }),
  );
const saying = (error: unknown): [name: string | undefined, message: string | undefined] => {
  const fields = fieldsOf(error);
  return [fields['rillkit:error'], fields['rillkit:message']];
};

describe('what a dead letter says', () => {
  it('is where the message came from, who gave it up, and why', () => {
    expect(fieldsOf(new RangeError('no card'))).toEqual({
      'rillkit:stream': 'orders',
      'rillkit:entry': '5-1',
      'rillkit:group': 'billing',
      'rillkit:worker': 'w1',
      'rillkit:attempts': '4',
      'rillkit:deliveries': '6',
      'rillkit:reason': 'retries',
      'rillkit:error': 'RangeError',
      'rillkit:message': 'no card',
    });
  });

  it('R8 is bounded for a message of a megabyte, and for a long chain of causes', () => {
    const huge = 'x'.repeat(1_000_000);
    const [name, message] = saying(Object.assign(new Error(huge, { cause: new Error(huge) }), { name: huge }));
    expect(name).toHaveLength(128);
    expect(message).toHaveLength(1_024);
    let chained = new Error('0');
    for (let depth = 1; depth < 100; depth += 1) chained = new Error(String(depth), { cause: chained });
    expect(saying(chained)[1]).toBe('99 ← Error: 98 ← Error: 97 ← Error: 96');
  });

  it('R8 ends for a cycle in cause', () => {
    const error = new Error('a');
    error.cause = new TypeError('b', { cause: error });
    expect(saying(error)).toEqual(['Error', 'a ← TypeError: b']);
  });

  it.each<[string, unknown, [string, string]]>([
    ['a string', 'plain', ['string', 'plain']],
    ['undefined', undefined, ['', '']],
    ['null', null, ['null', 'null']],
    ['a number', 7, ['number', '7']],
    ['a symbol', Symbol('s'), ['symbol', 'Symbol(s)']],
    ['a bigint', 5n, ['bigint', '5']],
    ['an object', { code: 5 }, ['object', '(object without a message)']],
    ['an object without prototype', Object.create(null), ['object', '(object without a message)']],
    ['a function', () => 1, ['object', '(object without a message)']],
  ])('R8 has words for %s that was thrown', (_, thrown, said) => {
    expect(saying(thrown)).toEqual(said);
  });

  it('R8 has words for errors whose own words throw', () => {
    const thrower = {
      get: (): never => {
        throw new Error('gotcha');
      },
    };
    const error = Object.defineProperties(new Error('hidden'), { message: thrower, name: thrower, cause: thrower });
    expect(saying(error)).toEqual(['object', '(object without a message)']);
    expect(saying(new Proxy({}, thrower))).toEqual(['object', '(object without a message)']);
    expect(saying({ name: 5, message: { toString: thrower.get } })).toEqual(['object', '(object without a message)']);
  });
});
