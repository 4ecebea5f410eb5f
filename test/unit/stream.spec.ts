import { describe, expect, it } from 'vitest';
import { json } from '../../lib/broker/codec-json.js';
import { Stream } from '../../lib/broker/stream.js';

/** As a program without types would call it. */
const make = (options: unknown, name: unknown = 'orders'): unknown => Reflect.construct(Stream, [name, options]);

describe('a stream', () => {
  it('is JSON, without schema and limit, unless its options say otherwise', () => {
    expect(new Stream('orders')).toMatchObject({ codec: json, schema: null, trim: null });
    expect(new Stream('orders', { maxLen: 5 }).trim).toEqual({ maxLen: 5, approximate: true });
    expect(new Stream('orders', { maxLen: 5, approximate: false }).trim).toEqual({ maxLen: 5, approximate: false });
  });

  it('takes undefined as absent', () => {
    const keys = ['group', 'schema', 'codec', 'maxLen', 'approximate', 'startFrom', 'maxBytes', 'dlq'];
    expect(make(Object.fromEntries(keys.map((key) => [key, undefined])))).toBeInstanceOf(Stream);
    expect(make({ dlq: { maxLen: undefined }, unheardOf: undefined })).toBeInstanceOf(Stream);
  });

  it.each<[string, unknown]>([
    ['maxLen', 0],
    ['maxLen', -1],
    ['maxLen', 1.5],
    ['maxLen', NaN],
    ['maxLen', '100'],
    ['maxLen', null],
    ['maxBytes', 0],
    ['maxBytes', Infinity],
    ['approximate', 'yes'],
    ['group', ''],
    ['group', '~g'],
    ['group', 5],
    ['startFrom', 'end'],
    ['startFrom', 5],
    ['startFrom', '5'],
    ['codec', 'json'],
    ['codec', {}],
    ['schema', 'z.string()'],
    ['schema', {}],
    ['dlq', 5],
  ])('V5 refuses %s: %o and names the option', (option, value) => {
    expect(() => make({ [option]: value })).toThrow(
      expect.objectContaining({ code: 'RILLKIT_OPTION', message: expect.stringContaining(`new Stream('orders').${option}`) }),
    );
  });

  it.each([
    [{ maxLength: 5 }, /maxLength: is not known here; known are group, schema/],
    [{ dlq: { max: 5 } }, /dlq\.max: is not known here; known are maxLen, maxAgeMs/],
    [{ dlq: { maxAgeMs: '1d' } }, /dlq\.maxAgeMs: must be a whole number of milliseconds, 1 or more, not '1d'/],
    [[], /must be an object, not an array/],
  ])('V5 refuses %j', (options, why) => {
    expect(() => make(options)).toThrow(expect.objectContaining({ code: 'RILLKIT_OPTION', message: expect.stringMatching(why) }));
  });

  it('N6 refuses a name that no stream can have', () => {
    for (const name of ['', 5, null, '\ud800', 'rillkit:x'])
      expect(() => make({}, name)).toThrow(expect.objectContaining({ code: 'RILLKIT_NAME' }));
  });

  it('N5 takes names with colons, braces, spaces, stars and other alphabets', () => {
    for (const name of ['a:b', '{a}', 'a b', '*', 'заказы', '😀']) expect(new Stream(name).name).toBe(name);
  });
});
