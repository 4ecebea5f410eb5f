import { Injectable, Module } from '@nestjs/common';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Broker, createBroker, fixed, MemoryStore, RillkitModule, Stream, StreamHandler, type ConnectionOption } from '../../lib/index.js';
import { quick, startApp, type TestApp } from '../support/nest-app.js';

const Orders = new Stream<{ id: number; fails?: true }>('orders', { maxLen: 1_000 });

const open: TestApp[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ app }) => app.close()));
});

/** An application with one handler; it fails for as long as the order says so. */
async function start(
  connection: ConnectionOption,
  concurrency = 4,
): Promise<TestApp & { readonly billed: number[]; readonly broker: Broker }> {
  const billed: number[] = [];
  @Injectable()
  class Billing {
    @StreamHandler(Orders, { concurrency, maxRetries: 1, backoff: fixed(5), prefetch: 0 })
    async bill(order: { id: number; fails?: true }): Promise<void> {
      billed.push(order.id);
      await new Promise((resolve) => setImmediate(resolve));
      if (order.fails) throw new Error('no');
    }
  }
  @Module({ providers: [Billing] })
  class FeatureModule {}
  const options = { ...quick('memory', { group: 'billing' }), connection };
  const started = await startApp({ imports: [FeatureModule, RillkitModule.forRoot(options)] });
  open.push(started);
  return { ...started, billed, broker: started.app.get(Broker) };
}

describe('an application on memory', () => {
  it('handles, retries and gives up as on Redis, and says once that all ends with the process', async () => {
    const { broker, billed, lines } = await start('memory');
    await broker.publish(Orders, { id: 1 });
    const { id } = await broker.publish(Orders, { id: 2, fails: true });
    await vi.waitFor(async () => expect(await broker.deadLetters(Orders).count()).toBe(1));
    expect(billed.toSorted((a, b) => a - b)).toEqual([1, 2, 2]);
    expect(await broker.inspect(Orders, id)).toMatchObject({ is: 'dead' });
    await vi.waitFor(async () => expect(await broker.stats(Orders)).toMatchObject({ pending: 0, undelivered: 0, parked: 0 }));
    expect(lines.matching(/kept in this process's memory/)).toHaveLength(1);
  });

  it('knows no other, unless they share one store; then they share the work, and a stop hands on what is left', async () => {
    const store = new MemoryStore();
    const [alone, first, second] = [await start('memory'), await start(store, 1), await start(store, 1)];
    await Promise.all(Array.from({ length: 50 }, (_, id) => first.broker.publish(Orders, { id })));
    await vi.waitFor(() => expect(first.billed.length + second.billed.length).toBe(50));
    expect(new Set([...first.billed, ...second.billed]).size).toBe(50);
    expect(first.billed.length).toBeGreaterThan(0);
    expect(second.billed.length).toBeGreaterThan(0);
    expect(alone.billed).toEqual([]);
    expect(await first.broker.activeWorkers(Orders)).toHaveLength(2);
    await second.app.close();
    expect(await first.broker.activeWorkers(Orders)).toHaveLength(1);
    await first.broker.publish(Orders, { id: 99 });
    await vi.waitFor(() => expect(first.billed).toContain(99));
  });

  it('has no client of Redis to give', async () => {
    const broker = createBroker({ connection: 'memory', group: 'billing' });
    expect(() => broker.client).toThrow(expect.objectContaining({ code: 'RILLKIT_NO_REDIS' }));
    await broker.publish(Orders, { id: 1 });
    expect(await broker.stats(Orders)).toMatchObject({ length: 1 });
    await broker.close();
    await expect(broker.publish(Orders, { id: 2 })).rejects.toMatchObject({ code: 'RILLKIT_PUBLISH', stored: 'no' });
  });
});
