import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bytes } from '../../lib/broker/codec-bytes.js';
import { Publisher } from '../../lib/broker/publisher.js';
import { Stream } from '../../lib/broker/stream.js';
import { StoreError, type StoreFault } from '../../lib/rillkit.errors.js';
import { RillkitEvents, type RillkitEvent } from '../../lib/rillkit.events.js';
import type { Fields, StreamStore, Trim } from '../../lib/store/stream-store.js';

interface Appended {
  readonly stream: string;
  readonly fields: Record<string, string>;
  readonly trim: Trim | undefined;
  readonly waitMs: number;
}

/** A publisher, and what it did; `append` answers the id, or throws. */
function publisher(append: () => string = () => '5-1') {
  const appended: Appended[] = [];
  const told: RillkitEvent[] = [];
  const events = new RillkitEvents();
  events.on('published', (event) => void told.push(event));
  events.on('publishFailed', (event) => void told.push(event));
  const store: Pick<StreamStore, 'append'> = {
    append: async (stream, fields: Fields, { trim, waitMs }) => {
      appended.push({ stream, fields: Object.fromEntries(fields.map(([name, value]) => [name, value.toString()])), trim, waitMs });
      return append();
    },
  };
  return { appended, told, publisher: new Publisher({ store, clock: { wallMs: () => 0 }, events, publishTimeoutMs: 700 }) };
}

describe('a publish', () => {
  const orders = new Stream('orders');

  it('stores the body with an id of its own, within its limit', async () => {
    const { publisher: p, appended, told } = publisher();
    const published = await p.publish(orders, { id: 1 });
    expect(published).toEqual({ id: '5-1', messageId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(appended).toEqual([
      { stream: 'orders', fields: { body: '{"id":1}', messageId: published.messageId }, trim: undefined, waitMs: 700 },
    ]);
    expect(told).toEqual([{ type: 'published', stream: 'orders', count: 1 }]);
  });

  it('stores what is given beside the body', async () => {
    const { publisher: p, appended } = publisher();
    await p.publish(orders, 1, { messageId: 'm', type: 'paid', headers: { a: 'b' } });
    expect(appended[0]?.fields).toEqual({ body: '1', messageId: 'm', type: 'paid', headers: '{"a":"b"}' });
  });

  it('checks the body by the schema, and stores it as it was given', async () => {
    const { publisher: p, appended } = publisher();
    const stream = new Stream('orders', { schema: z.object({ id: z.string().transform(Number) }) });
    await p.publish(stream, { id: '7' });
    await expect(p.publish(stream, { id: 7 })).rejects.toMatchObject({ code: 'RILLKIT_SCHEMA' });
    expect(appended.map(({ fields }) => fields['body'])).toEqual(['{"id":"7"}']);
  });

  it('waits for a schema that takes its time', async () => {
    const { publisher: p, appended } = publisher();
    const stream = new Stream('orders', { schema: z.number().refine(async (n) => n > 1) });
    await expect(p.publish(stream, 1)).rejects.toMatchObject({ code: 'RILLKIT_SCHEMA' });
    await p.publish(stream, 2);
    expect(appended).toHaveLength(1);
  });

  it('stores in the order of the calls, and bodies as they were then', async () => {
    const { publisher: p, appended } = publisher();
    const body = { n: 0 };
    const all = [0, 1, 2].map((n) => p.publish(orders, Object.assign(body, { n })));
    body.n = 9;
    await Promise.all(all);
    expect(appended.map(({ fields }) => fields['body'])).toEqual(['{"n":0}', '{"n":1}', '{"n":2}']);
  });

  it.each<[string, unknown, object | undefined, string]>([
    ['M5 undefined', undefined, undefined, 'RILLKIT_BODY'],
    ['M5 a BigInt', 1n, undefined, 'RILLKIT_BODY'],
    ['M5 NaN', { n: NaN }, undefined, 'RILLKIT_BODY'],
    ['an empty messageId', 1, { messageId: '' }, 'RILLKIT_BODY'],
    ['a messageId that is no string', 1, { messageId: 5 }, 'RILLKIT_BODY'],
    ['an empty type', 1, { type: '' }, 'RILLKIT_BODY'],
    ['headers that are no strings', 1, { headers: { a: 1 } }, 'RILLKIT_BODY'],
    ['an unknown option', 1, { maxlen: 5 }, 'RILLKIT_OPTION'],
    ['maxLen 0', 1, { maxLen: 0 }, 'RILLKIT_OPTION'],
    ['maxLen as text', 1, { maxLen: '5' }, 'RILLKIT_OPTION'],
    ['approximate as text', 1, { maxLen: 5, approximate: 'no' }, 'RILLKIT_OPTION'],
  ])('refuses %s before anything is written', async (_, body, options, code) => {
    const { publisher: p, appended, told } = publisher();
    await expect(Reflect.apply(p.publish, p, [orders, body, options])).rejects.toMatchObject({ code });
    expect(appended).toEqual([]);
    expect(told).toEqual([{ type: 'publishFailed', stream: 'orders', error: expect.objectContaining({ code }) }]);
  });

  it('refuses what a codec of the application cannot write', async () => {
    const { publisher: p, appended } = publisher();
    const broken = {
      name: 'mine',
      decode: () => ({ body: 1 }),
      encode: () => {
        throw new TypeError('no such field');
      },
    };
    await expect(p.publish(new Stream('orders', { codec: broken }), 1)).rejects.toMatchObject({
      code: 'RILLKIT_BODY',
      message: expect.stringMatching(/codec mine: no such field/),
    });
    expect(appended).toEqual([]);
  });

  it('M6 takes a body of exactly maxBytes, and none above', async () => {
    const { publisher: p, appended } = publisher();
    const stream = new Stream('orders', { codec: bytes(), maxBytes: 5_000_000 });
    await p.publish(stream, Buffer.alloc(5_000_000), { headers: { not: 'counted' } });
    await expect(p.publish(stream, Buffer.alloc(5_000_001))).rejects.toMatchObject({
      code: 'RILLKIT_BODY',
      message: 'The body is 5000001 bytes long; the stream "orders" takes at most 5000000.',
    });
    expect(appended).toHaveLength(1);
  });

  it('trims as the stream says, unless it says otherwise itself', async () => {
    const { publisher: p, appended } = publisher();
    const capped = new Stream('orders', { maxLen: 100, approximate: false });
    await p.publish(capped, 1);
    await p.publish(capped, 1, { maxLen: 5 });
    await p.publish(capped, 1, { approximate: true, maxLen: undefined });
    await p.publish(orders, 1, { maxLen: 7 });
    await p.publish(orders, 1, { approximate: false });
    expect(appended.map(({ trim }) => trim)).toEqual([
      { maxLen: 100, approximate: false },
      { maxLen: 5, approximate: false },
      { maxLen: 100, approximate: true },
      { maxLen: 7, approximate: true },
      undefined,
    ]);
  });

  it.each<[StoreFault, 'no' | 'unknown', 'no' | 'unknown']>([
    ['unavailable', 'no', 'no'],
    ['unavailable', 'unknown', 'unknown'],
    ['interrupted', 'unknown', 'unknown'],
    ['outOfMemory', 'no', 'no'],
    // An answer is an answer, whatever the store made of it.
    ['wrongType', 'unknown', 'no'],
    ['readOnly', 'unknown', 'no'],
    ['refused', 'unknown', 'no'],
  ])('that met "%s" (applied: %s) says stored: %s', async (fault, applied, stored) => {
    const cause = new StoreError('so it goes', fault, applied);
    const {
      publisher: p,
      appended,
      told,
    } = publisher(() => {
      throw cause;
    });
    const failed = { code: 'RILLKIT_PUBLISH', stored, messageId: 'm', cause };
    await expect(p.publish(orders, 1, { messageId: 'm' })).rejects.toMatchObject(failed);
    // Never sent again from here.
    expect(appended).toHaveLength(1);
    expect(told).toEqual([{ type: 'publishFailed', stream: 'orders', error: expect.objectContaining(failed) }]);
  });

  it('that met what no store throws says stored: unknown', async () => {
    const { publisher: p } = publisher(() => {
      throw new TypeError('a bug');
    });
    await expect(p.publish(orders, 1)).rejects.toMatchObject({ code: 'RILLKIT_PUBLISH', stored: 'unknown' });
  });
});
