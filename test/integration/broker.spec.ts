import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { bytes } from '../../lib/broker/codec-bytes.js';
import { createBroker, type CreateBrokerOptions, type StandaloneBroker } from '../../lib/broker/create-broker.js';
import { Stream } from '../../lib/broker/stream.js';
import type { RillkitEvent } from '../../lib/rillkit.events.js';
import { Proxy } from '../support/proxy.js';
import { startRedis, uniqueName } from '../support/redis-server.js';

const open: { close(): Promise<unknown> }[] = [];
let redis: Redis;

beforeAll(() => void (redis = new Redis(inject('redisUrl'))));
afterAll(() => redis.disconnect());
afterEach(async () => void (await Promise.all(open.splice(0).map((one) => one.close()))));

function brokerOn(connection: string, options: CreateBrokerOptions = {}): StandaloneBroker {
  const broker = createBroker({ connection, ...options });
  open.push(broker);
  return broker;
}

async function proxy(port = Number(new URL(inject('redisUrl')).port)): Promise<Proxy> {
  const made = await Proxy.to(port);
  open.push(made);
  return made;
}

/** Stays within the server, and closes with the test. */
async function serverWith(...args: string[]) {
  const server = await startRedis({ args });
  const client = new Redis(server.url);
  open.push({
    close: async () => {
      client.disconnect();
      await server.stop();
    },
  });
  return { server, client };
}

const entriesOf = async (stream: string): Promise<{ id: string; fields: Record<string, string> }[]> =>
  (await redis.xrange(stream, '-', '+')).map(([id, parts]) => {
    const pairs = Array.from({ length: parts.length / 2 }, (_, at) => [parts[2 * at], parts[2 * at + 1]]);
    return { id, fields: Object.fromEntries(pairs) };
  });

describe('publishing', () => {
  let name: string;
  let broker: StandaloneBroker;
  beforeEach(() => {
    name = uniqueName();
    broker = brokerOn(inject('redisUrl'));
  });

  it('stores an entry that redis-cli can read', async () => {
    const { id, messageId } = await broker.publish(new Stream(name), { id: 1 }, { type: 'paid', headers: { trace: 'ü' } });
    expect(await entriesOf(name)).toEqual([{ id, fields: { body: '{"id":1}', messageId, type: 'paid', headers: '{"trace":"ü"}' } }]);
  });

  it('takes a name for a stream without options', async () => {
    const { id } = await broker.publish(name, 'x', { messageId: 'm-1' });
    expect(await entriesOf(name)).toEqual([{ id, fields: { body: '"x"', messageId: 'm-1' } }]);
  });

  it('N5 takes names of any kind', async () => {
    for (const odd of [`${name}:a`, `{${name}}`, `${name} *?[x]`, `${name}-ü`]) {
      await broker.publish(odd, 1);
      expect(await redis.xlen(odd)).toBe(1);
    }
  });

  it('M5 writes nothing of a body that cannot be carried', async () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    for (const body of [undefined, 1n, cycle, { n: NaN }, () => 1]) {
      await expect(broker.publish(name, body)).rejects.toMatchObject({ code: 'RILLKIT_BODY' });
    }
    expect(await redis.exists(name)).toBe(0);
  });

  it('M6 stores 5 MB as they are, and nothing above the limit', async () => {
    const stream = new Stream(name, { codec: bytes(), maxBytes: 5_000_000 });
    const body = Buffer.alloc(
      5_000_000,
      Uint8Array.from({ length: 256 }, (_, at) => at),
    );
    await broker.publish(stream, body);
    await expect(broker.publish(stream, Buffer.alloc(5_000_001))).rejects.toMatchObject({ code: 'RILLKIT_BODY' });
    const [entry, ...more] = await redis.xrangeBuffer(name, '-', '+');
    expect(more).toEqual([]);
    expect(entry?.[1][1]?.equals(body)).toBe(true);
  });

  it('trims exactly where it is told to', async () => {
    const stream = new Stream(name, { maxLen: 10, approximate: false });
    await broker.publishMany(
      stream,
      Array.from({ length: 25 }, (_, body) => ({ body })),
    );
    expect((await entriesOf(name)).map(({ fields }) => fields['body'])).toEqual(Array.from({ length: 10 }, (_, at) => String(15 + at)));
    await broker.publish(stream, 25, { maxLen: 2 });
    expect(await redis.xlen(name)).toBe(2);
  });

  it('tells once of a stream that nothing limits, and never of another', async () => {
    const told: RillkitEvent[] = [];
    broker.events.on('unboundedStream', (event) => void told.push(event));
    const unbounded = new Stream(name);
    await Promise.all([broker.publish(unbounded, 1), broker.publish(unbounded, 2), broker.publish(new Stream(name, { maxLen: 5 }), 3)]);
    broker.tellUnbounded(unbounded);
    expect(told).toEqual([{ type: 'unboundedStream', stream: name }]);
  });

  it('gives many messages an answer each, and stores them in their order', async () => {
    const messages = Array.from({ length: 1_203 }, (_, n) => ({ body: n === 700 ? { n: NaN } : { n }, messageId: `m-${n}` }));
    const answers = await broker.publishMany(new Stream(name), messages);
    const entries = await entriesOf(name);
    expect(answers.map((answer) => answer.ok)).toEqual(messages.map((_, n) => n !== 700));
    expect(answers[700]).toMatchObject({ ok: false, error: { code: 'RILLKIT_BODY' } });
    expect(answers.flatMap((answer) => (answer.ok ? [{ id: answer.id, messageId: answer.messageId }] : []))).toEqual(
      entries.map(({ id, fields }) => ({ id, messageId: fields['messageId'] })),
    );
    expect(entries.map(({ fields }) => fields['messageId'])).toEqual(
      messages.flatMap(({ messageId }, n) => (n === 700 ? [] : [messageId])),
    );
  });

  it('says of many messages in an outage each for itself that it was not stored', async () => {
    const down = await proxy();
    down.refuse();
    const cut = brokerOn(down.url, { publishTimeoutMs: 200 });
    const answers = await cut.publishMany(name, [{ body: 1 }, { body: 2 }]);
    expect(answers).toMatchObject([
      { ok: false, error: { code: 'RILLKIT_PUBLISH', stored: 'no' } },
      { ok: false, error: { code: 'RILLKIT_PUBLISH', stored: 'no' } },
    ]);
  });
});

describe('a publish that fails', () => {
  it('is "no" where the key is of another type', async () => {
    const name = uniqueName();
    await redis.set(name, 'x');
    const failure = { code: 'RILLKIT_PUBLISH', stored: 'no', messageId: 'm', cause: { fault: 'wrongType' } };
    await expect(brokerOn(inject('redisUrl')).publish(name, 1, { messageId: 'm' })).rejects.toMatchObject(failure);
    expect(await redis.get(name)).toBe('x');
  });

  it('is "no" where the server is out of memory, and works again after', async () => {
    const { server, client } = await serverWith('--maxmemory', '1', '--maxmemory-policy', 'noeviction');
    const broker = brokerOn(server.url);
    await expect(broker.publish('orders', 1)).rejects.toMatchObject({ stored: 'no', cause: { fault: 'outOfMemory' } });
    expect(await client.exists('orders')).toBe(0);
    await client.config('SET', 'maxmemory', '0');
    await broker.publish('orders', 1);
    expect(await client.xlen('orders')).toBe(1);
  });

  it('is "no" where the server is a replica', async () => {
    const { server, client } = await serverWith();
    await client.replicaof('127.0.0.1', 1);
    await expect(brokerOn(server.url).publish('orders', 1)).rejects.toMatchObject({ stored: 'no', cause: { fault: 'readOnly' } });
  });

  it('is "unknown" where the answer was lost, is not sent again, and keeps its name when the caller sends it again', async () => {
    const name = uniqueName();
    const network = await proxy();
    const broker = brokerOn(network.url);
    await broker.publish(name, 'first');
    const lost = network.loseReplyTo('XADD');
    const failed = await broker.publish(name, 'second').catch((error: unknown) => error);
    await lost;
    expect(failed).toMatchObject({ code: 'RILLKIT_PUBLISH', stored: 'unknown', messageId: expect.any(String) });
    expect(await redis.xlen(name)).toBe(2);
    const messageId = typeof failed === 'object' && failed && 'messageId' in failed ? String(failed.messageId) : '';
    await broker.publish(name, 'second', { messageId });
    expect((await entriesOf(name)).map(({ fields }) => fields['messageId']).slice(1)).toEqual([messageId, messageId]);
  });

  it('is "unknown" within its limit where no answer comes at all', async () => {
    const name = uniqueName();
    const network = await proxy();
    const broker = brokerOn(network.url, { publishTimeoutMs: 300 });
    await broker.publish(name, 1);
    network.swallowReplies();
    const begin = performance.now();
    await expect(broker.publish(name, 2)).rejects.toMatchObject({ stored: 'unknown' });
    expect(performance.now() - begin).toBeLessThan(1_500);
    expect(await redis.xlen(name)).toBe(2);
  });

  it('O7 settles within its limit in an outage, 10 000 of them, in bounded memory', async () => {
    const name = uniqueName();
    const network = await proxy();
    const broker = brokerOn(network.url, { publishTimeoutMs: 1_000 });
    await broker.publish(name, 'before');
    const down = new Promise<void>((resolve) => void broker.events.on('disconnected', () => resolve()));
    network.refuse();
    await down;
    const before = heapUsed();
    const body = { text: 'x'.repeat(1_000) };
    const begin = performance.now();
    const calls = Array.from({ length: 10_000 }, () => broker.publish(name, body).catch((error: unknown) => error));
    // The body, its entry, a timer: what a waiting publish needs, and not a multiple of it.
    expect((heapUsed() - before) / calls.length).toBeLessThan(8_000);
    const errors = await Promise.all(calls);
    expect(performance.now() - begin).toBeLessThan(4_000);
    const stored = errors.map((error) => (typeof error === 'object' && error && 'stored' in error ? error.stored : error));
    expect(new Set(stored)).toEqual(new Set(['no']));
    errors.length = stored.length = calls.length = 0;
    expect(heapUsed() - before).toBeLessThan(5_000_000);

    network.accept();
    await broker.publish(name, 'after');
    expect((await entriesOf(name)).map(({ fields }) => fields['body'])).toEqual(['"before"', '"after"']);
  });
});

describe('a broker of a script', () => {
  it('answers questions before it is connected, and leaves no connection behind', async () => {
    const { server, client } = await serverWith();
    const broker = createBroker({ connection: server.url, group: 'billing' });
    expect(await broker.activeWorkers('orders')).toEqual([]);
    expect(await broker.client.ping()).toBe('PONG');
    expect(await client.client('LIST')).toContain('name=rillkit:');
    await broker.close();
    await broker.close();
    await expect.poll(async () => client.client('LIST')).not.toContain('name=rillkit:');
  });

  it('checks its options', () => {
    expect(() => createBroker({ connection: 'http://x' })).toThrow(expect.objectContaining({ code: 'RILLKIT_OPTION' }));
    expect(() => createBroker({ publishTimeoutMs: 0 })).toThrow(expect.objectContaining({ option: 'publishTimeoutMs' }));
  });

  it('says of a question in an outage that there is no connection', async () => {
    const down = await proxy();
    down.refuse();
    const broker = brokerOn(down.url, { publishTimeoutMs: 100, group: 'g' });
    await expect(broker.stats('orders')).rejects.toMatchObject({ code: 'RILLKIT_STORE', fault: 'unavailable', applied: 'no' });
    await expect(broker.deadLetters('orders').list()).rejects.toMatchObject({ code: 'RILLKIT_STORE', fault: 'unavailable' });
  });
});

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

function heapUsed(): number {
  if (typeof collect === 'function') collect();
  return process.memoryUsage().heapUsed;
}
