import { afterEach, describe, expect, it, vi } from 'vitest';
import type { RedisOptions } from 'ioredis';
import type { RedisStoreParams } from '../../../lib/store/redis/redis-store.js';
import type { Burial, Delivered, Place, StreamStore } from '../../../lib/store/stream-store.js';
import { fieldsOf } from '../../contract/store-suite.js';
import { Proxy } from '../../support/proxy.js';
import { startRedis, uniqueName, type RedisServer } from '../../support/redis-server.js';
import { makeStore, openStore, type OpenedStore } from '../../support/redis-store.js';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function ownRedis(args: readonly string[] = []): Promise<RedisServer> {
  const server = await startRedis({ args });
  closing.push(() => server.stop());
  return server;
}

async function proxyTo(server: RedisServer): Promise<Proxy> {
  const proxy = await Proxy.to(server.port);
  closing.push(() => proxy.close());
  return proxy;
}

async function storeAt(url: string, params: Parameters<typeof openStore>[1] = {}): Promise<OpenedStore> {
  const opened = await openStore(url, params);
  closing.push(() => opened.close());
  return opened;
}

/** A store behind a proxy, and what belongs to it. */
async function proxied(params: Partial<RedisStoreParams> = {}) {
  const server = await ownRedis();
  const proxy = await proxyTo(server);
  const opened = await storeAt(proxy.url, { ...params, directUrl: server.url });
  return { server, proxy, ...opened };
}

const append = (store: StreamStore, stream: string, body = '1', waitMs = 5_000): Promise<string> =>
  store.append(stream, fieldsOf({ body }), { waitMs });

async function delivered(store: StreamStore, place: Place): Promise<Delivered> {
  await store.ensureGroup(place, 'beginning');
  await append(store, place.stream);
  const [message] = await store.read(place, 'w1', 1);
  if (!message) throw new Error('nothing was delivered');
  return message;
}

const newPlace = (): Place => ({ stream: uniqueName(), group: 'billing' });
const burialOf = ({ id, number, fields }: Delivered): Burial => ({
  id,
  number,
  entry: fields,
  why: [['rillkit:entry', id]],
  refused: { delayMs: 0, attempt: 4 },
});
const request = (place: Place, blockMs: number) => ({ group: place.group, worker: 'w1', streams: [place.stream], count: 10, blockMs });

/** How often the connection of that role has been made. */
const connected = (seen: OpenedStore['seen'], role: string): number =>
  seen.filter((event) => event.type === 'connected' && event.connection.startsWith(`rillkit:${role}`)).length;

/** A read under way, by a user with fewer rights. */
async function readingWith(...rights: string[]) {
  const server = await ownRedis();
  const { redis } = await storeAt(server.url);
  await redis.acl('SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', ...rights);
  const { store } = await storeAt(`redis://app:secret@127.0.0.1:${server.port}`, { directUrl: server.url });
  const place = newPlace();
  await store.ensureGroup(place, 'beginning');
  const reader = store.openReader('orders');
  await reader.read(request(place, 100));
  const read = reader.read(request(place, 4_000)).catch((error: unknown) => error);
  await expect.poll(async () => String(await redis.client('LIST')).includes('cmd=xreadgroup')).toBe(true);
  return { reader, read };
}

async function closesSoon(store: StreamStore): Promise<void> {
  const since = performance.now();
  await store.close();
  expect(performance.now() - since).toBeLessThan(1_000);
}

describe('a call whose reply was lost', () => {
  it.each(['ack', 'retry', 'release', 'bury'] as const)('%s: sent again, has taken effect once', async (op) => {
    const { proxy, store, redis } = await proxied();
    const place = newPlace();
    // The server knows the scripts, so that what is lost is the answer to the call itself.
    await send(await delivered(store, newPlace()), newPlace());
    const message = await delivered(store, place);

    async function send({ id, number, ...rest }: Delivered, to: Place): Promise<string | undefined> {
      if (op === 'bury') return (await store.bury(to, 'w1', burialOf({ id, number, ...rest }))).is;
      return (await store.settle(to, 'w1', 8, [op === 'ack' ? { id, number, op } : { id, number, op, delayMs: 0 }]))[0]?.is;
    }

    const lost = proxy.loseReplyTo(message.id);
    await expect(send(message, place)).rejects.toMatchObject({ fault: 'unavailable', applied: 'unknown' });
    await lost;
    expect(await store.ready(5_000)).toBe(true);
    expect(await send(message, place)).toBe('fenced');

    expect(await store.countDeadLetters(place.stream)).toBe(op === 'bury' ? 1 : 0);
    const { messages } = await store.take(place, 'w2', 10);
    const numbers = { ack: [], bury: [], retry: [2], release: [1_001] }[op];
    expect(messages.map(({ number }) => number)).toEqual(numbers);
    expect(await redis.xlen(place.stream)).toBe(1);
  });

  it('is not sent again behind the back of who called', async () => {
    const { proxy, store, redis, seen } = await proxied();
    const stream = uniqueName();
    const lost = proxy.loseReplyTo(stream);
    await expect(append(store, stream)).rejects.toMatchObject({ fault: 'unavailable', applied: 'unknown' });
    await lost;
    await expect.poll(() => seen.map(({ type }) => type)).toEqual(['connected', 'disconnected', 'connected']);
    await store.ping();
    expect(await redis.xlen(stream)).toBe(1);
  });
});

describe('appending without a connection', () => {
  it('waits for one, and fails surely unstored when there is none in time', async () => {
    const { proxy, store, redis, seen } = await proxied();
    const stream = uniqueName();
    proxy.refuse();
    await expect.poll(() => seen.some(({ type }) => type === 'disconnected')).toBe(true);
    await expect(append(store, stream, '1', 50)).rejects.toMatchObject({ fault: 'unavailable', applied: 'no' });
    const waiting = append(store, stream, '2', 20_000);
    proxy.accept();
    await waiting;
    expect(await redis.xlen(stream)).toBe(1);
  });

  it('cannot tell when the answer does not come in time', async () => {
    const { proxy, store } = await proxied();
    proxy.stall();
    await expect(append(store, uniqueName(), '1', 50)).rejects.toMatchObject({ fault: 'unavailable', applied: 'unknown' });
    proxy.resume();
    await store.ping();
  });

  it('takes its time once, for the connection and the answer together', async () => {
    const { proxy, store, events, seen } = await proxied();
    proxy.refuse();
    await expect.poll(() => seen.some(({ type }) => type === 'disconnected')).toBe(true);
    // Connected again late, and silent from then on.
    events.on('connected', () => proxy.stall());
    const since = performance.now();
    const append1 = append(store, uniqueName(), '1', 1_500);
    setTimeout(() => proxy.accept(), 700);
    await expect(append1).rejects.toMatchObject({ fault: 'unavailable', applied: 'unknown' });
    expect(performance.now() - since).toBeGreaterThan(1_450);
    expect(performance.now() - since).toBeLessThan(1_900);
  });

  it('ends for ten thousand calls at once, when the store is closed', async () => {
    const { proxy, store, seen } = await proxied();
    proxy.refuse();
    await expect.poll(() => seen.some(({ type }) => type === 'disconnected')).toBe(true);
    const calls = Promise.allSettled(Array.from({ length: 10_000 }, () => append(store, 'orders', '1', 60_000)));
    await store.close();
    const results = await calls;
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
  });
});

describe('a connection that is lost', () => {
  it('is made again through any number of restarts, by one client object', async () => {
    const server = await ownRedis();
    const { store, seen } = await storeAt(server.url);
    const { client } = store;
    for (let round = 0; round < 5; round += 1) {
      await server.kill('SIGKILL');
      await server.restart();
      expect(await store.ready(10_000)).toBe(true);
      await append(store, uniqueName());
    }
    expect(store.client).toBe(client);
    const again = seen.flatMap((event) => (event.type === 'connected' ? [event.again] : []));
    expect(again).toEqual([false, true, true, true, true, true]);
  });

  it('leaves nothing behind for each try while Redis is away', async () => {
    const { proxy, seen } = await proxied();
    const added = vi.spyOn(AbortSignal.prototype, 'addEventListener');
    const removed = vi.spyOn(AbortSignal.prototype, 'removeEventListener');
    try {
      proxy.refuse();
      await expect.poll(() => seen.filter(({ type }) => type === 'loopFailed').length, { timeout: 10_000 }).toBeGreaterThan(12);
      expect(added.mock.calls.length).toBeGreaterThan(12);
      // The wait for the next try, of this store.
      expect(added.mock.calls.length - removed.mock.calls.length).toBeLessThanOrEqual(2);
    } finally {
      added.mockRestore();
      removed.mockRestore();
    }
  });

  it('has no ghost at the server that could be served in its stead', async () => {
    const { proxy, store, redis, seen } = await proxied();
    const place = newPlace();
    await store.ensureGroup(place, 'beginning');
    const reader = store.openReader('orders');
    const connections = async (): Promise<string[]> => String(await redis.client('LIST')).match(/name=rillkit:reader\S+/g) ?? [];
    const lost = reader.read(request(place, 4_000));
    await expect.poll(async () => String(await redis.client('LIST')).includes('cmd=xreadgroup')).toBe(true);

    proxy.abandon();
    await expect(lost).rejects.toMatchObject({ fault: 'unavailable' });
    await expect.poll(() => connected(seen, 'reader')).toBe(2);
    expect(await connections()).toHaveLength(1);

    const id = await append(store, place.stream);
    expect(await reader.read(request(place, 4_000))).toMatchObject([{ messages: [{ id, number: 1 }] }]);
  });

  it('is noticed where the network has gone silent, within the block and a margin', async () => {
    const { proxy, store, seen } = await proxied({ blockMs: 200 });
    const place = newPlace();
    await store.ensureGroup(place, 'beginning');
    const reader = store.openReader('orders');
    await reader.read(request(place, 200));
    proxy.blackHole();
    const since = performance.now();
    await expect(reader.read(request(place, 200))).rejects.toMatchObject({ fault: 'unavailable', applied: 'unknown' });
    expect(performance.now() - since).toBeLessThan(4_000);
    proxy.resume();
    proxy.cut();
    await expect.poll(() => connected(seen, 'commands')).toBe(2);
    const id = await append(store, place.stream);
    await expect.poll(async () => reader.read(request(place, 1_000)).catch(() => [])).toMatchObject([{ messages: [{ id }] }]);
    expect(seen.some(({ type }) => type === 'disconnected')).toBe(true);
  });

  it('is one that refuses writes: a replica behind the same address', async () => {
    const server = await ownRedis();
    const { store, redis, seen } = await storeAt(server.url);
    const place = newPlace();
    const message = await delivered(store, place);
    await redis.replicaof('127.0.0.1', 1);
    await expect(append(store, place.stream)).rejects.toMatchObject({ fault: 'readOnly', applied: 'no' });
    await expect.poll(() => seen.some(({ type }) => type === 'disconnected')).toBe(true);
    await redis.replicaof('NO', 'ONE');
    expect(await store.ready(5_000)).toBe(true);
    await append(store, place.stream);
    expect(await store.settle(place, 'w1', 8, [{ id: message.id, number: 1, op: 'ack' }])).toEqual([{ is: 'ok' }]);
  });

  it('was killed: each of ours in turn comes back', async () => {
    const server = await ownRedis();
    const { store, redis } = await storeAt(server.url);
    const place = newPlace();
    await store.ensureGroup(place, 'beginning');
    const reader = store.openReader('orders');
    const heard: string[] = [];
    store.onNudge(place.group, (stream) => heard.push(stream));
    for (const type of ['normal', 'pubsub'] as const) {
      await redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
      expect(await store.ready(5_000)).toBe(true);
      heard.length = 0;
      await expect
        .poll(async () => {
          await store.nudge(place).catch(() => {});
          return heard.length;
        })
        .toBeGreaterThan(0);
      const id = await append(store, place.stream);
      await expect.poll(async () => reader.read(request(place, 500)).catch(() => [])).toMatchObject([{ messages: [{ id }] }]);
    }
  });
});

describe('breaking a read off', () => {
  it('ends surely where UNBLOCK is forbidden but KILL is not', async () => {
    const { reader, read } = await readingWith('-client|unblock');
    expect(await reader.interrupt()).toBe('ended');
    expect(await read).toMatchObject({ fault: 'unavailable' });
  });

  it.each([
    ['end it nor look', ['-client|unblock', '-client|kill', '-client|list']],
    ['know our own number', ['-client|id']],
    ['carry a name', ['-client|setname']],
    ['anything', ['-client']],
  ])('ends, but not surely, where the server does not let us %s', async (_what, rights) => {
    const { reader, read } = await readingWith(...rights);
    expect(await reader.interrupt()).toBe('unsure');
    expect(await read).toMatchObject({ fault: 'unavailable' });
  });

  it('ends, but not surely, where nothing can be sent', async () => {
    const { proxy, store, redis } = await proxied();
    const place = newPlace();
    await store.ensureGroup(place, 'beginning');
    const reader = store.openReader('orders');
    await reader.read(request(place, 100));
    const read = reader.read(request(place, 4_000)).catch((error: unknown) => error);
    await expect.poll(async () => String(await redis.client('LIST')).includes('cmd=xreadgroup')).toBe(true);
    proxy.refuse();
    expect(await read).toMatchObject({ fault: 'unavailable' });
    expect(await reader.interrupt()).toBe('unsure');
    proxy.accept();
    await expect.poll(() => reader.interrupt()).toBe('ended');
  });

  it('ends a read that still waits for its connection', async () => {
    const { proxy, store, seen } = await proxied();
    const reader = store.openReader('orders');
    proxy.refuse();
    await expect.poll(() => seen.some(({ type }) => type === 'disconnected')).toBe(true);
    const read = reader.read(request(newPlace(), 5_000));
    const since = performance.now();
    const [broken] = await Promise.allSettled([read, reader.interrupt()]);
    expect(broken).toMatchObject({ status: 'rejected', reason: { fault: 'interrupted', applied: 'no' } });
    expect(performance.now() - since).toBeLessThan(1_000);
  });
});

describe('options that would do harm', () => {
  it("do none: the user's timeouts, queues and pipelines are not ours", async () => {
    const server = await ownRedis();
    const connection: RedisOptions = {
      host: '127.0.0.1',
      port: server.port,
      commandTimeout: 20,
      blockingTimeout: 20,
      socketTimeout: 20,
      maxRetriesPerRequest: 20,
      enableAutoPipelining: true,
    };
    const { store, seen } = await storeAt(server.url, { connection });
    const place = newPlace();
    await store.ensureGroup(place, 'beginning');
    const reader = store.openReader('orders');
    const read = reader.read(request(place, 400));
    const since = performance.now();
    await store.ping();
    expect(performance.now() - since).toBeLessThan(200);
    expect(await read).toEqual([]);
    expect(seen.filter(({ type }) => type !== 'connected')).toEqual([]);
  });

  it('a wrong password is tried again until it is right, and is told to nobody', async () => {
    const server = await ownRedis();
    const { redis } = await storeAt(server.url);
    await redis.acl('SETUSER', 'app', 'on', '>other', '~*', '&*', '+@all');
    const { store, seen, close } = makeStore(`redis://app:s3cret@127.0.0.1:${server.port}`, { directUrl: server.url });
    closing.push(close);
    store.start();
    await expect.poll(() => seen.length).toBeGreaterThan(2);
    expect(seen.at(-1)).toMatchObject({ type: 'loopFailed', loop: 'connection', failures: seen.length, error: { fault: 'refused' } });
    await expect(store.ping()).rejects.toMatchObject({ fault: 'unavailable', applied: 'no' });
    const told = seen.map((event) => JSON.stringify(event) + ('error' in event && event.error instanceof Error ? event.error.stack : ''));
    expect(told.join()).toContain('WRONGPASS');
    expect(told.join()).not.toContain('s3cret');
    await redis.acl('SETUSER', 'app', '>s3cret');
    expect(await store.ready(5_000)).toBe(true);
    await store.ping();
  });
});

describe('closing', () => {
  it('leaves no connection at the server', async () => {
    const server = await ownRedis();
    const { store, redis } = await storeAt(server.url);
    const reader = store.openReader('orders');
    const place = newPlace();
    await store.ensureGroup(place, 'beginning');
    store.onNudge('billing', () => {});
    const read = reader.read(request(place, 4_000)).catch((error: unknown) => error);
    await expect.poll(async () => String(await redis.client('LIST')).match(/name=rillkit/g)).toHaveLength(3);
    await store.close();
    await store.close();
    expect(await read).toMatchObject({ fault: 'unavailable' });
    expect(store.state).toBe('closed');
    await expect(store.ping()).rejects.toMatchObject({ fault: 'unavailable', applied: 'no' });
    expect(await store.ready(5_000)).toBe(false);
    await expect.poll(async () => String(await redis.client('LIST')).match(/name=rillkit/g)).toBeNull();
  });

  it('ends before it was ever started, and while nobody answers', async () => {
    const never = makeStore('redis://127.0.0.1:1');
    closing.push(never.close);
    await closesSoon(never.store);

    const refused = makeStore('redis://127.0.0.1:1');
    closing.push(refused.close);
    refused.store.start();
    await expect.poll(() => refused.seen.length).toBeGreaterThan(0);
    await closesSoon(refused.store);
    refused.store.start();
    expect(refused.store.state).toBe('closed');
  });

  it('ends on a network that has gone silent, with calls under way', async () => {
    const { proxy, store } = await proxied();
    const reader = store.openReader('orders');
    proxy.blackHole();
    const calls = Promise.allSettled([store.ping(), reader.read(request(newPlace(), 4_000)), append(store, 'orders')]);
    await closesSoon(store);
    expect((await calls).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });

  it('ends while the handshake hangs', async () => {
    const server = await ownRedis();
    const proxy = await proxyTo(server);
    proxy.blackHole();
    const { store, close } = makeStore(proxy.url, { directUrl: server.url });
    closing.push(close);
    store.start();
    await expect.poll(() => proxy.connections).toBe(1);
    await closesSoon(store);
  });
});
