import { afterEach, beforeEach, expect, it } from 'vitest';
import { fixed } from '../../lib/consumer/backoff.js';
import type { Message } from '../../lib/handlers/message.js';
import { watchRejections } from '../support/oracle.js';
import { randomFrom, seedOfRun } from '../support/random.js';
import { Scene } from '../support/scene.js';

const expectNoRejections = watchRejections();
let scene: Scene;

beforeEach(async () => {
  scene = await Scene.open();
});

afterEach(async () => {
  await scene.close();
  expectNoRejections();
});

const POLICIES = ['nackOnError', 'nackOnError', 'ackAlways', 'ackFirst', 'manual'] as const;
/** The same each time, and one by chance. */
const SEEDS = [...Array.from({ length: 12 }, (_, at) => at + 1), seedOfRun()];

const slowly = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

it.each(SEEDS)('workload %i: whatever handlers do, everything ends, with no beat to help out', async (seed) => {
  const random = randomFrom(seed);
  const below = (most: number): number => Math.floor(random() * most);
  const ackPolicy = POLICIES[below(POLICIES.length)];
  const options = {
    ackPolicy,
    concurrency: 1 + below(6),
    count: 1 + below(20),
    prefetch: [0, 3, 50, 'auto' as const][below(4)],
    maxRetries: 1 + below(3),
    maxHandBacks: below(4),
    timeoutMs: random() < 0.5 ? 30 : undefined,
    backoff: fixed(below(40)),
  };
  const acts: readonly ((message: Message) => unknown)[] = [
    () => undefined,
    () => undefined,
    () => undefined,
    () => Promise.resolve(),
    () => slowly(below(20)),
    () => slowly(below(80)),
    () => {
      throw new Error('no');
    },
    async () => {
      await slowly(5);
      throw new Error('no');
    },
    (message) => message.release({ delayMs: below(30) }),
    (message) => message.release(),
    (message) => message.nack({ delayMs: below(30) }),
    (message) => message.reject('no'),
    async (message) => {
      message.ack();
      await slowly(below(60));
    },
  ];
  const worker = scene.worker({
    handler: (_body: never, message) => {
      const result = acts[below(acts.length)]?.(message);
      if (ackPolicy === 'manual') setTimeout(() => message.ack(), below(30));
      return result;
    },
    options,
    module: { liveness: { leaseMs: 60_000 }, blockMs: 30_000, shutdown: { abortMs: 10 } },
  });
  await worker.untilConsuming();
  for (let round = 0; round < 5; round += 1) {
    await scene.publish(below(40));
    await slowly(below(60));
  }
  await scene.untilEnded();
  await expect.poll(() => worker.consumers.status()).toMatchObject([{ running: 0, waiting: 0, unanswered: 0 }]);
  await expect.poll(async () => (await scene.redis.xpending(scene.stream, 'billing'))[0]).toBe(0);
  expect(worker.of('loopFailed')).toEqual([]);
  expect(worker.of('fenced')).toEqual([]);
  const most = Math.max(...worker.runs.map(({ attempt }) => attempt));
  expect(most).toBeLessThanOrEqual(options.maxRetries + 1);
  await scene.end();
});
