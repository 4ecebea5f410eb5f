import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { exponential, Message, RillkitModule, Stream, StreamHandler } from '@rillkit/nestjs';
import { RillkitHarness, withRillkitTesting } from '@rillkit/nestjs/testing';
import { expect, it } from 'vitest'; // under Jest: '@jest/globals', or its globals

const Orders = new Stream<{ id: string }>('orders', { maxLen: 100_000 });

@Injectable()
class Payments {
  async charge(key: string): Promise<void> {
    await fetch('https://payments.example/charge', { method: 'POST', headers: { 'idempotency-key': key } });
  }
}

@Injectable()
class Billing {
  constructor(private readonly payments: Payments) {}

  @StreamHandler(Orders, { maxRetries: 3, backoff: exponential({ firstMs: 6_000, maxMs: 12_000 }) }) // waits 6 s, 12 s, 12 s
  async bill(_order: { id: string }, message: Message): Promise<void> {
    await this.payments.charge(message.messageId);
  }
}

@Module({ providers: [Payments, Billing] })
class BillingModule {}

@Module({ imports: [BillingModule, RillkitModule.forRoot({ connection: 'redis://localhost:6379', group: 'billing' })] })
class AppModule {}

it('gives an order up when its payment has failed four times', async () => {
  const charged: string[] = [];
  const charge = async (key: string): Promise<void> => {
    charged.push(key);
    throw new Error('The payment provider is away');
  };
  const app = await withRillkitTesting(Test.createTestingModule({ imports: [AppModule] }))
    .overrideProvider(Payments)
    .useValue({ charge })
    .compile();
  await app.init();
  const rillkit = app.get(RillkitHarness);
  const started = performance.now();

  await rillkit.publish(Orders, { id: 'o-1' }, { messageId: 'm-1' });
  await rillkit.drain();
  expect(charged).toEqual(['m-1']);

  await rillkit.advance(30_000); // all three retries fall due, each at its own time
  expect(charged).toEqual(['m-1', 'm-1', 'm-1', 'm-1']);
  expect(rillkit.handled(Orders).map(({ attempt, outcome }) => `${attempt} ${outcome}`)).toEqual([
    '1 retried',
    '2 retried',
    '3 retried',
    '4 dead',
  ]);
  expect(rillkit.deadLetters(Orders)).toMatchObject([
    { messageId: 'm-1', body: { id: 'o-1' }, reason: 'retries', attempts: 4, errorMessage: 'The payment provider is away' },
  ]);
  console.log(`30 s of backoff took ${Math.round(performance.now() - started)} ms`);

  await app.close();
});
