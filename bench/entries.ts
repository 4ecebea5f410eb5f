import type { Redis } from 'ioredis';
import { BODY } from './contender.js';

export const STREAM = 'bench';
export const GROUP = 'bench';

/** Stores entries as `broker.publish` writes them: the bare loop and the library read the very same ones. */
export async function fillStream(redis: Redis, count: number): Promise<void> {
  await redis.flushall();
  const body = JSON.stringify(BODY);
  for (let stored = 0; stored < count; stored += 1_000) {
    const batch = redis.pipeline();
    for (let i = stored; i < Math.min(count, stored + 1_000); i += 1) {
      batch.xadd(STREAM, '*', 'body', body, 'messageId', `0192f0c4-7b5e-7abc-8def-${String(i).padStart(12, '0')}`);
    }
    await batch.exec();
  }
  await redis.xgroup('CREATE', STREAM, GROUP, '0');
}

/** Ends when nothing is pending any more. */
export async function settled(redis: Redis): Promise<void> {
  let pending: unknown;
  do [pending] = await redis.xpending(STREAM, GROUP);
  while (pending !== 0);
}
