import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Redis } from 'ioredis';
import type { OrderRecord } from '../../sample-app/orders/order-record.js';
import { Processes, type Shop } from '../support/processes.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

describe.each(['Redis', 'memory'] as const)('the sample shop on %s', (where) => {
  const processes = new Processes();
  let server: RedisServer | null = null;
  let shop: Shop;

  beforeAll(async () => {
    server = where === 'Redis' ? await startRedis() : null;
    shop = await processes.shop({ REDIS_URL: server?.url, WORK_MS: '5', PATH: server ? process.env['PATH'] : '' });
  });

  afterAll(async () => {
    await processes.killAll();
    await server?.stop();
  });

  it('says where it keeps what it knows', () => {
    const told = where === 'Redis' ? /its Redis is redis:/ : /all it knows is kept in memory and ends with it/;
    expect(shop.process.lines.filter((line) => told.test(line))).toHaveLength(1);
    expect(shop.process.lines.some((line) => /Messages are kept in this process's memory/.test(line))).toBe(where === 'memory');
  });

  it.each([
    ['succeed', 'billed', ['billed']],
    ['failTwice', 'billed', ['failed, runs again', 'failed, runs again', 'billed']],
    ['fail', 'given up', ['failed, runs again', 'failed, runs again', 'failed, runs again', 'given up']],
    ['reject', 'rejected', ['rejected']],
  ])('takes an order to %s and says what became of it', async (outcome, state, results) => {
    const id = `o-${outcome}`;
    const answer = await post(shop, { id, total: 12.5, outcome });
    expect(answer.status).toBe(202);
    const { order, entry } = JSON.parse(await answer.text());
    expect(order).toBe(id);

    await expect.poll(async () => (await show(shop, id)).state, { timeout: 10_000 }).toBe(state);
    const record = await show(shop, id);
    expect(record.runs.map((run) => run.result)).toEqual(results);
    expect(record.runs.map((run) => run.attempt)).toEqual(results.map((_, index) => index + 1));
    expect(new Set(record.runs.map((run) => run.entry))).toEqual(new Set([entry]));
    const fences = record.runs.map((run) => run.fence);
    expect(fences).toEqual(fences.toSorted((a, b) => (a < b ? -1 : 1)));
    await expect.poll(async () => (await show(shop, id)).audits).toBe(1);
  });

  it('keeps what it gave up among the dead letters', async () => {
    await expect.poll(() => shown(shop, /^rillkit_dead_letters\{.*\} (\d+)$/m), { timeout: 10_000 }).toBe('2');
  });

  it.each([
    [{ id: 'two words', total: 1 }, 'id: must be 1 to 64 letters, digits, - or _'],
    [{ id: 'o-1', total: -1 }, 'total: '],
    [{ id: 'o-1', total: 1, outcome: 'explode' }, 'outcome: '],
    [{}, 'id: '],
  ])('refuses %j, says why, and publishes nothing', async (order, reason) => {
    const before = await shown(shop, PUBLISHED);
    const answer = await post(shop, order);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(reason);
    expect(await shown(shop, PUBLISHED)).toBe(before);
  });

  it('knows nothing of an order that was never placed', async () => {
    expect((await fetch(`${shop.url}/orders/o-never`)).status).toBe(404);
  });

  it('is alive, ready, and shows its metrics', async () => {
    expect((await fetch(`${shop.url}/health/live`)).status).toBe(200);
    await expect.poll(async () => (await fetch(`${shop.url}/health/ready`)).status, { timeout: 10_000 }).toBe(200);
    const metrics = await (await fetch(`${shop.url}/metrics`)).text();
    expect(metrics).toMatch(/^rillkit_active_workers\{stream="orders",group="billing"\} 1$/m);
    expect(metrics).toMatch(/^process_cpu_seconds_total /m);
  });
});

describe('the sample shop, closing', () => {
  const processes = new Processes();

  afterAll(() => processes.killAll());

  it('bills the order at hand, then closes its order book, then ends by the signal', async () => {
    const shop = await processes.shop({ REDIS_URL: inject('redisUrl'), WORK_MS: '1000', WORKER: `closing-${process.pid}` });
    const id = `o-closing-${process.pid}`;
    await post(shop, { id, total: 1 });
    await expect.poll(async () => (await show(shop, id)).runs.length, { timeout: 10_000 }).toBe(1);
    shop.process.signal('SIGTERM');
    expect(await shop.process.ended).toEqual({ code: null, signal: 'SIGTERM' });
    expect(shop.process.lines.at(-1)).toContain('The order book is closed');

    const redis = new Redis(inject('redisUrl'));
    expect(await redis.hget(`shop:order:${id}`, 'state')).toBe('billed');
    redis.disconnect();
  });

  it('needs nothing to have ended, without Redis', async () => {
    const shop = await processes.shop({ REDIS_URL: undefined });
    shop.process.signal('SIGTERM');
    expect(await shop.process.ended).toEqual({ code: null, signal: 'SIGTERM' });
  });
});

const PUBLISHED = /^rillkit_published_total\{stream="orders"\} (\d+)$/m;

/** What the shop's metrics say. */
async function shown(shop: Shop, metric: RegExp): Promise<string | undefined> {
  const text = await (await fetch(`${shop.url}/metrics`)).text();
  expect(text).toMatch(metric);
  return text.match(metric)?.[1];
}

const post = (shop: Shop, order: object): Promise<Response> =>
  fetch(`${shop.url}/orders`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(order) });

async function show(shop: Shop, id: string): Promise<OrderRecord> {
  return JSON.parse(await (await fetch(`${shop.url}/orders/${id}`)).text());
}
