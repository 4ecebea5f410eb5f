import { Redis } from 'ioredis';
import { afterEach, expect, it } from 'vitest';
import { flat } from '../../lib/broker/codec-flat.js';
import { Stream } from '../../lib/broker/stream.js';
import { fixed } from '../../lib/consumer/backoff.js';
import { expectAllEnded, expectEndedOnce, watchRejections } from '../support/oracle.js';
import { startRedis, uniqueName } from '../support/redis-server.js';
import { Worker } from '../support/workers.js';

const expectNoRejections = watchRejections();
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  expectNoRejections();
});

it('an entry of five thousand fields is retried, given up, replayed and given up again like any other', async () => {
  const server = await startRedis();
  closing.push(() => server.stop());
  const redis = new Redis(server.url);
  closing.push(() => redis.quit());
  const stream = new Stream(uniqueName(), { codec: flat() });
  let failing = true;
  const worker = new Worker({
    url: server.url,
    stream,
    handler: () => {
      if (failing) throw new Error('no');
    },
    options: { maxRetries: 1, backoff: fixed(10) },
  }).start();
  closing.push(() => worker.stop());
  const fields = Array.from({ length: 5_000 }, (_, n) => [`name${n}`, `value${n}`]).flat();
  const id = (await redis.xadd(stream.name, '*', ...fields)) ?? '';
  const { id: small } = await worker.broker.publish(stream, { a: '1' });

  await worker.until(() => worker.of('deadLettered').length === 2, 'two dead letters');
  expect(worker.of('deadLetterRefused')).toEqual([]);
  expect(worker.runs).toHaveLength(4);
  const letters = worker.broker.deadLetters(stream);
  const letter = (await redis.xrange(`${stream.name}-dlq`, '-', '+')).find(([, all]) => all.includes('value4999'));
  expect(letter?.[1].slice(0, 10_000)).toEqual(fields);
  expect(letter?.[1]).toContain('rillkit:at');

  failing = false;
  const { replayed } = await letters.replay();
  expect(replayed).toHaveLength(2);
  await worker.until(() => worker.of('handled').filter(({ outcome }) => outcome === 'acked').length === 2, 'both acked');
  expect(await letters.count()).toBe(0);
  const again = (await redis.xrange(stream.name, '-', '+')).find(([other, all]) => other !== id && all.includes('value4999'));
  expect(again?.[1]).toEqual([...fields, 'rillkit:for', 'billing', 'rillkit:messageId', id]);

  failing = true;
  const wide = (await redis.xadd(stream.name, '*', ...fields)) ?? '';
  await worker.until(() => worker.of('deadLettered').length === 3, 'a third');
  await worker.stop();
  expectEndedOnce([worker], [id, small, wide]);
  await expectAllEnded(server.url, { stream: stream.name, published: [id, small, wide] });
});
