import { describe, expect, it } from 'vitest';
import { bytes } from '../../lib/broker/codec-bytes.js';
import { flat } from '../../lib/broker/codec-flat.js';
import { json } from '../../lib/broker/codec-json.js';
import { messageIdOf, replayedFor } from '../../lib/broker/envelope.js';
import type { Fields } from '../../lib/store/stream-store.js';

const fieldsOf = (fields: Record<string, string | Buffer>): Fields =>
  Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? Buffer.from(value) : value]);
const textOf = (fields: Fields): Record<string, string> => Object.fromEntries(fields.map(([name, value]) => [name, value.toString()]));
const bodyAfter = (codec: typeof json, body: unknown): unknown => codec.decode(codec.encode({ body })).body;

describe('the JSON codec', () => {
  it('writes the body as JSON text, and only those fields that there are', () => {
    expect(textOf(json.encode({ body: { id: 1 }, messageId: 'm-1' }))).toEqual({ body: '{"id":1}', messageId: 'm-1' });
    const all = json.encode({ body: 'x', messageId: 'm-1', type: 'paid', headers: { trace: 'a' } });
    expect(textOf(all)).toEqual({ body: '"x"', messageId: 'm-1', type: 'paid', headers: '{"trace":"a"}' });
    expect(json.decode(all)).toEqual({ body: 'x', messageId: 'm-1', type: 'paid', headers: { trace: 'a' } });
  });

  it('reads what somebody typed into redis-cli', () => {
    expect(json.decode(fieldsOf({ body: '{"id":1}' }))).toEqual({ body: { id: 1 } });
  });

  it.each([[null], [0], [-1.5], [''], ['ü€😀'], [true], [[]], [{}], [{ __proto__: null, a: [1, { b: null }] }]])(
    'carries %j as it is',
    (body) => {
      expect(bodyAfter(json, body)).toEqual(body);
    },
  );

  it('treats dates, toJSON and undefined properties as everybody expects', () => {
    class Money {
      constructor(readonly cents: number) {}
      toJSON(): string {
        return `${this.cents} ct`;
      }
    }
    const body = { at: new Date(0), left: undefined, price: new Money(5), big: { toJSON: () => '1' } };
    expect(bodyAfter(json, body)).toEqual({ at: '1970-01-01T00:00:00.000Z', price: '5 ct', big: '1' });
  });

  const cycle: { self?: unknown } = {};
  cycle.self = { again: cycle };
  it.each<[string, unknown, RegExp]>([
    ['undefined', undefined, /body is undefined/],
    ['a BigInt', 1n, /BigInt/],
    ['a BigInt inside', { id: 1n }, /BigInt/],
    ['a cycle', cycle, /circular/i],
    ['NaN', NaN, /body is NaN/],
    ['Infinity inside', { lines: [{ price: 1 }, { price: Infinity }] }, /body\.lines\[1\]\.price is Infinity/],
    ['undefined in an array', [1, undefined], /body\[1\] is undefined/],
    ['a hole in an array', Array(2), /body\[0\] is undefined/],
    ['a function', () => 1, /body is a function/],
    ['a method', { run: () => 1 }, /body\.run is a function/],
    ['a symbol', { 'a b': Symbol('x') }, /body\["a b"\] is a symbol/],
    ['a Map', { byId: new Map([[1, 2]]) }, /body\.byId is a Map/],
    ['a Set', new Set([1]), /a Set/],
    ['a promise that nobody awaited', { order: Promise.resolve(1) }, /body\.order is a Promise/],
    ['an Error', { error: new Error('x') }, /an Error/],
    ['bytes', new Uint8Array([1]), /bytes\(\)/],
    ['an invalid Date', { at: new Date(NaN) }, /body\.at is an invalid Date/],
    ['NaN out of a toJSON', { total: { toJSON: () => NaN } }, /body\.total is NaN/],
    ['a toJSON that throws', { toJSON: () => JSON.parse('{') }, /cannot be written/],
  ])('M5 refuses %s, and says where it is', (_, body, why) => {
    expect(() => json.encode({ body })).toThrow(expect.objectContaining({ code: 'RILLKIT_BODY', message: expect.stringMatching(why) }));
  });

  it('refuses a body nested deeper than the stack', () => {
    let body: unknown = 1;
    for (let depth = 0; depth < 100_000; depth += 1) body = [body];
    expect(() => json.encode({ body })).toThrow(expect.objectContaining({ code: 'RILLKIT_BODY' }));
  });

  it.each<[string, Fields, RegExp]>([
    ['no body', fieldsOf({ id: '1' }), /no field "body"/],
    ['broken JSON', fieldsOf({ body: '{"id":' }), /not JSON/],
    ['bytes that are not UTF-8', fieldsOf({ body: Buffer.from([0x22, 0xff, 0x22]) }), /not UTF-8/],
    ['headers that are not JSON', fieldsOf({ body: '1', headers: 'x' }), /"headers" is not JSON/],
    ['headers that are no strings', fieldsOf({ body: '1', headers: '{"a":1}' }), /object of strings/],
    ['headers that are a list', fieldsOf({ body: '1', headers: '["a"]' }), /object of strings/],
  ])('cannot read %s', (_, fields, why) => {
    expect(() => json.decode(fields)).toThrow(expect.objectContaining({ code: 'RILLKIT_BODY', message: expect.stringMatching(why) }));
  });
});

describe('the bytes codec', () => {
  it('gives equal bytes back, from a Buffer or a part of an array', () => {
    const all = Uint8Array.from({ length: 256 }, (_, at) => at);
    expect(bodyAfter(bytes(), Buffer.from(all))).toEqual(Buffer.from(all));
    expect(bodyAfter(bytes(), all.subarray(10, 20))).toEqual(Buffer.from(all.subarray(10, 20)));
    expect(bodyAfter(bytes(), Buffer.alloc(0))).toEqual(Buffer.alloc(0));
  });

  it('refuses everything else', () => {
    for (const body of ['text', { data: [1] }, [1], undefined]) {
      expect(() => bytes().encode({ body })).toThrow(expect.objectContaining({ code: 'RILLKIT_BODY' }));
    }
  });
});

describe('the flat codec', () => {
  it('keeps one field a property, beside those of the envelope', () => {
    const fields = flat().encode({
      body: { id: '1', total: '12.50', left: undefined },
      messageId: 'm-1',
      type: 'paid',
      headers: { a: 'b' },
    });
    expect(textOf(fields)).toEqual({ id: '1', total: '12.50', messageId: 'm-1', type: 'paid', headers: '{"a":"b"}' });
    expect(flat().decode(fields)).toEqual({ body: { id: '1', total: '12.50' }, messageId: 'm-1', type: 'paid', headers: { a: 'b' } });
  });

  it('reads entries of other programs, with names of any kind', () => {
    const { body } = flat().decode([...fieldsOf({ body: 'x', 'a b': 'y' }), ['__proto__', Buffer.from('z')]]);
    expect(Object.entries(Object(body))).toEqual([
      ['body', 'x'],
      ['a b', 'y'],
      ['__proto__', 'z'],
    ]);
  });

  it('passes over the fields of a replay', () => {
    expect(flat().decode(fieldsOf({ id: '1', 'rillkit:for': 'billing' })).body).toEqual({ id: '1' });
  });

  it.each([['text'], [['a']], [null], [{ id: 1 }], [{ id: null }], [{ type: 'x' }], [{ 'rillkit:for': 'x' }]])('refuses %j', (body) => {
    expect(() => flat().encode({ body })).toThrow(expect.objectContaining({ code: 'RILLKIT_BODY' }));
  });

  it('cannot read a value that is not text', () => {
    expect(() => flat().decode(fieldsOf({ id: Buffer.from([0xff]) }))).toThrow(/"id" is not UTF-8/);
  });
});

describe('the fields of a replay', () => {
  const replayed = fieldsOf({ body: '1', 'rillkit:for': 'billing', 'rillkit:messageId': '5-1' });

  it('say which group the entry is for', () => {
    expect(replayedFor(replayed)).toBe('billing');
    expect(replayedFor(fieldsOf({ body: '1', messageId: 'm' }))).toBeUndefined();
    expect(replayedFor([])).toBeUndefined();
  });

  it('keep the message id that was the id of the old entry, whatever the codec', () => {
    expect(messageIdOf({ body: 1 }, replayed, '9-0')).toBe('5-1');
    expect(messageIdOf({ body: 1, messageId: 'm' }, replayed, '9-0')).toBe('m');
    expect(messageIdOf({ body: 1 }, fieldsOf({ body: '1' }), '9-0')).toBe('9-0');
  });
});
