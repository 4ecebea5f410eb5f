import { setTimeout as realWait } from 'node:timers/promises';
import { Injectable, Module, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { RillkitHarness, withRillkitTesting } from '@rillkit/nestjs/testing';
import { afterEach, describe, expect, it } from 'vitest';
import {
  Broker,
  exponential,
  fixed,
  Message,
  RejectMessage,
  RillkitModule,
  Stream,
  StreamHandler,
  type RillkitModuleOptions,
  type StreamHandlerOptions,
} from '../../lib/index.js';
import { Lines } from '../support/nest-app.js';

interface Order {
  readonly id: number;
}

const Orders = new Stream<Order>('orders', { maxLen: 1_000 });
const open: TestingModule[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((module) => module.close()));
});

type Bill = (order: Order, message: Message<Order>) => unknown;

interface Given {
  readonly bill?: Bill;
  readonly handler?: StreamHandlerOptions<Order>;
  readonly options?: RillkitModuleOptions;
  readonly providers?: NonNullable<ModuleMetadata['providers']>;
}

/** An application as somebody may have it, whose Redis is not there. */
async function make({ bill = () => {}, handler = {}, options = {}, providers = [] }: Given): Promise<TestingModule> {
  @Injectable()
  class Billing {
    @StreamHandler(Orders, handler)
    async bill(order: Order, message: Message<Order>): Promise<void> {
      await bill(order, message);
    }
  }
  @Module({ providers: [Billing, ...providers] })
  class FeatureModule {}
  @Module({ imports: [FeatureModule, RillkitModule.forRoot({ connection: 'redis://nowhere.invalid', group: 'billing', ...options })] })
  class AppModule {}
  const module = await withRillkitTesting(Test.createTestingModule({ imports: [AppModule] }))
    .setLogger(new Lines())
    .compile();
  open.push(module);
  return module;
}

async function start(given: Given): Promise<RillkitHarness> {
  const module = await make(given);
  await module.init();
  return module.get(RillkitHarness);
}

const failing = (): never => {
  throw new TypeError('no');
};

describe('an application under test', () => {
  it('handles what is published, with no Redis', async () => {
    const rillkit = await start({});
    const { id } = await rillkit.publish(Orders, { id: 1 }, { messageId: 'm-1', headers: { tenant: 'a' } });
    await rillkit.drain();
    expect(rillkit.published(Orders)).toEqual([{ id, messageId: 'm-1', body: { id: 1 }, type: undefined, headers: { tenant: 'a' } }]);
    expect(rillkit.handled(Orders)).toEqual([
      { id, messageId: 'm-1', body: { id: 1 }, group: 'billing', attempt: 1, outcome: 'acked', error: undefined },
    ]);
    expect(rillkit.handled(Orders, { group: 'others' })).toEqual([]);
    expect(rillkit.deadLetters(Orders)).toEqual([]);
  });

  it('retries when its time has come, neither before nor later, and gives up', async () => {
    const times: number[] = [];
    const rillkit = await start({
      bill: () => {
        times.push(rillkit.clock.monotonicMs());
        failing();
      },
      handler: { maxRetries: 3, backoff: exponential({ firstMs: 4_000, factor: 2, maxMs: 16_000 }) },
    });
    await rillkit.publish(Orders, { id: 1 }, { messageId: 'm-1' });
    await rillkit.drain();
    expect(times).toEqual([0]);
    await rillkit.advance(3_999);
    expect(times).toHaveLength(1);
    await rillkit.advance(1);
    expect(times).toEqual([0, 4_000]);
    const startedMs = performance.now();
    await rillkit.advance(24_000);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect(times).toEqual([0, 4_000, 12_000, 28_000]);
    expect(rillkit.handled(Orders).map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, 'retried'],
      [2, 'retried'],
      [3, 'retried'],
      [4, 'dead'],
    ]);
    expect(rillkit.handled(Orders)[3]?.error).toBeInstanceOf(TypeError);
    expect(rillkit.deadLetters(Orders)).toMatchObject([
      { messageId: 'm-1', body: { id: 1 }, group: 'billing', reason: 'retries', attempts: 4, errorName: 'TypeError', errorMessage: 'no' },
    ]);
  });

  it('waits for handlers that wait for the world outside, and not for messages that are parked for later', async () => {
    const rillkit = await start({
      bill: async ({ id }) => {
        await realWait(20);
        if (id === 2) failing();
      },
      handler: { concurrency: 2, backoff: fixed(60_000) },
    });
    await rillkit.publish(Orders, { id: 1 });
    await rillkit.publish(Orders, { id: 2 });
    expect(rillkit.handled(Orders)).toEqual([]);
    await rillkit.drain();
    expect(rillkit.handled(Orders).map(({ body, outcome }) => [body, outcome])).toEqual([
      [{ id: 1 }, 'acked'],
      [{ id: 2 }, 'retried'],
    ]);
    // The clock is not turned past attempts that take real time.
    await rillkit.advance(180_000);
    expect(rillkit.deadLetters(Orders)).toMatchObject([{ body: { id: 2 }, attempts: 4 }]);
  });

  it('works off a backlog, whatever a handler can take at a time', async () => {
    const rillkit = await start({ bill: () => realWait(1) });
    await Promise.all(Array.from({ length: 50 }, (_, id) => rillkit.publish(Orders, { id })));
    await rillkit.drain();
    expect(rillkit.handled(Orders).map(({ body }) => body)).toEqual(Array.from({ length: 50 }, (_, id) => ({ id })));
  });

  it('names what is stuck: the handler, the message, since when; and nothing that only waits behind it', async () => {
    const rillkit = await start({ bill: () => new Promise(() => {}) });
    const { id } = await rillkit.publish(Orders, { id: 1 }, { messageId: 'm-stuck' });
    await rillkit.publish(Orders, { id: 2 }, { messageId: 'm-behind' });
    const since = new Date(rillkit.clock.wallMs()).toISOString();
    await rillkit.advance(5_000);
    const error: unknown = await rillkit.drain({ timeoutMs: 50 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'RILLKIT_TESTING' });
    expect(error).toHaveProperty(
      'message',
      `Not drained within 50 ms of real time: Billing.bill has message "m-stuck" (entry ${id}, attempt 1) since ${since} by the test's clock.`,
    );
  });

  it('closes in time all the same when a handler hangs', async () => {
    const module = await make({ bill: () => new Promise(() => {}) });
    await module.init();
    await module.get(RillkitHarness).publish(Orders, { id: 1 });
    const startedMs = performance.now();
    await module.close();
    expect(performance.now() - startedMs).toBeLessThan(4_000);
  });

  it('lets what runs end when the application closes', async () => {
    const module = await make({ bill: () => realWait(50) });
    await module.init();
    const rillkit = module.get(RillkitHarness);
    await rillkit.publish(Orders, { id: 1 });
    await module.close();
    expect(rillkit.handled(Orders)).toMatchObject([{ outcome: 'acked' }]);
  });

  it('turns an hour in no time, beats and all, and is as it was', async () => {
    const rillkit = await start({});
    const startedMs = performance.now();
    await rillkit.advance(3_600_000);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
    await rillkit.publish(Orders, { id: 1 });
    await rillkit.drain();
    expect(rillkit.handled(Orders)).toMatchObject([{ outcome: 'acked' }]);
  });

  it('ends an attempt by its timeout, of the turned clock', async () => {
    const aborted: number[] = [];
    const rillkit = await start({
      bill: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          signal.addEventListener('abort', () => aborted.push(rillkit.clock.monotonicMs()));
        }),
      handler: { timeoutMs: 30_000, maxRetries: 0 },
    });
    await rillkit.publish(Orders, { id: 1 });
    await rillkit.advance(29_999);
    expect(aborted).toEqual([]);
    await rillkit.advance(1);
    expect(aborted).toEqual([30_000]);
    expect(rillkit.deadLetters(Orders)).toMatchObject([{ reason: 'retries', errorName: 'HandlerTimeoutError' }]);
  });

  it('keeps the options of the real module', async () => {
    const rillkit = await start({ bill: failing, options: { defaults: { maxRetries: 1, backoff: fixed(10) }, group: 'shop' } });
    await rillkit.publish(Orders, { id: 1 });
    await rillkit.advance(10);
    expect(rillkit.deadLetters(Orders)).toMatchObject([{ group: 'shop', attempts: 2 }]);
  });

  it('shows what was given up for what it is, a body that nobody can read too', async () => {
    const rillkit = await start({
      bill: () => {
        throw new RejectMessage('stolen');
      },
    });
    const Bare = new Stream('orders', { codec: { name: 'bare', encode: () => [['body', Buffer.from('{')]], decode: () => ({ body: 0 }) } });
    const { id } = await rillkit.publish(Bare, 0);
    await rillkit.publish(Orders, { id: 2 });
    expect(rillkit.deadLetters('orders')).toMatchObject([
      { entry: id, messageId: id, body: undefined, reason: 'undecodable', errorName: 'BodyError' },
      { body: { id: 2 }, reason: 'rejected', errorMessage: 'stolen' },
    ]);
    // No handler has seen the one that cannot be read.
    expect(rillkit.handled('orders')).toMatchObject([{ body: { id: 2 }, outcome: 'dead' }]);
  });

  it('hears what the application itself publishes', async () => {
    const Receipts = new Stream<Order>('receipts', { maxLen: 100 });
    const module = await make({ bill: (order) => module.get(Broker, { strict: false }).publish(Receipts, order) });
    await module.init();
    const rillkit = module.get(RillkitHarness);
    await rillkit.publish(Orders, { id: 7 });
    expect(rillkit.published(Receipts)).toMatchObject([{ body: { id: 7 } }]);
  });

  it('says so when it is asked before the start, after the end, or without a RillkitModule', async () => {
    const module = await make({});
    const rillkit = module.get(RillkitHarness);
    const early = { code: 'RILLKIT_TESTING', message: expect.stringContaining('has not started: await app.init()') };
    await expect(rillkit.drain()).rejects.toMatchObject(early);
    await expect(rillkit.advance(1)).rejects.toMatchObject(early);
    await expect(rillkit.publish(Orders, { id: 1 })).rejects.toMatchObject(early);
    await module.init();
    await rillkit.publish(Orders, { id: 1 });
    await module.close();
    await expect(rillkit.drain()).rejects.toMatchObject({ message: 'The application is closed.' });
    expect(rillkit.handled(Orders)).toHaveLength(1);
  });

  it('refuses options and times that cannot be meant', async () => {
    const rillkit = await start({});
    await expect(rillkit.advance(-1)).rejects.toMatchObject({ code: 'RILLKIT_OPTION' });
    await expect(rillkit.advance(Number.NaN)).rejects.toMatchObject({ code: 'RILLKIT_OPTION' });
    await expect(rillkit.drain({ timeoutMs: -1 })).rejects.toMatchObject({ code: 'RILLKIT_OPTION' });
    const misspelt = { timeoutMs: 1, timeout: 1 };
    await expect(rillkit.drain(misspelt)).rejects.toMatchObject({ code: 'RILLKIT_OPTION' });
  });

  it('shares nothing with another', async () => {
    const [first, second] = [await start({}), await start({})];
    await first.publish(Orders, { id: 1 });
    await first.advance(1_000);
    await second.drain();
    expect(second.handled(Orders)).toEqual([]);
    expect(second.clock.monotonicMs()).toBe(0);
  });
});
