import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { Redis } from 'ioredis';
import type { OrderRecord } from '../../sample-app/orders/order-record.js';
import { Processes, type Shop } from '../support/processes.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

describe('the sample shop', () => {
  const processes = new Processes();
  let server: RedisServer;
  let shop: Shop;

  beforeAll(async () => {
    server = await startRedis();
    shop = await processes.shop({ REDIS_URL: server.url, WORK_MS: '5' });
  });

  afterAll(async () => {
    await processes.killAll();
    await server.stop();
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

  it.each([
    [{ id: 'two words', total: 1 }, 'id: must be 1 to 64 letters, digits, - or _'],
    [{ id: 'o-1', total: -1 }, 'total: '],
    [{ id: 'o-1', total: 1, outcome: 'explode' }, 'outcome: '],
    [{}, 'id: '],
  ])('refuses %j, says why, and publishes nothing', async (order, reason) => {
    const redis = new Redis(server.url);
    const before = await redis.xlen('orders');
    const answer = await post(shop, order);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(reason);
    expect(await redis.xlen('orders')).toBe(before);
    redis.disconnect();
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

  it.each(['SIGTERM', 'SIGKILL'] as const)('takes its private Redis with it, ended by %s', async (signal) => {
    const shop = await processes.shop({ REDIS_URL: undefined });
    const [, url = ''] = await shop.process.line(/its Redis is (\S+)/);
    const redis = new Redis(url, { retryStrategy: () => null });
    expect(await redis.ping()).toBe('PONG');
    const gone = new Promise<void>((resolve) => redis.once('end', resolve));
    shop.process.signal(signal);
    await gone;
  });

  it('says in one sentence what to do without a redis-server', async () => {
    const sentence = /^The shop needs Redis: set REDIS_URL, or install redis-server/;
    const shop = await processes.start('sample-app/main.js', { ready: sentence, env: { REDIS_URL: undefined, PATH: await shellOnly() } });
    expect(await shop.ended).toEqual({ code: 1, signal: null });
    expect(shop.lines).toHaveLength(1);
  });
});

/** A folder with a shell and nothing else. */
async function shellOnly(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rillkit-shell-'));
  await symlink('/bin/sh', join(folder, 'sh'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

const post = (shop: Shop, order: object): Promise<Response> =>
  fetch(`${shop.url}/orders`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(order) });

async function show(shop: Shop, id: string): Promise<OrderRecord> {
  return JSON.parse(await (await fetch(`${shop.url}/orders/${id}`)).text());
}
