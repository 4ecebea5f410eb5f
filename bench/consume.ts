// How fast are messages handled when handlers do nothing? A bare Redis Streams loop, BullMQ and this library, in one run, in turn.
//   npm run bench -- --messages 60000 --rounds 5
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { startRedis } from '../test/support/redis-server.js';
import { bare } from './bare.js';
import { bullmq } from './bullmq.js';
import type { Contender } from './contender.js';
import { measure, median, type Measured } from './measure.js';
import { rillkit } from './rillkit.js';

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '60000' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
  },
});
const messages = Number(values.messages);
const rounds = Number(values.rounds);

const server = await startRedis();
const control = new Redis(server.url);
try {
  const inOrder: { readonly contender: Contender; readonly count: number; readonly results: Measured[] }[] = [
    { contender: bare(server.url, control), count: messages, results: [] },
    ...[1, 10, 100].flatMap((concurrency) => [
      { contender: rillkit(server.url, control, concurrency), count: messages, results: [] },
      // Fewer: it takes several times as long for each, and its rate does not depend on how many there are.
      { contender: bullmq(server.url, control, concurrency), count: Math.ceil(messages / 6), results: [] },
    ]),
  ].filter(({ contender }) => contender.name.startsWith('bare') || contender.name.includes(values.only));

  for (let round = 1; round <= rounds; round += 1) {
    for (const { contender, count, results } of inOrder) {
      results.push(await measure(contender, count, control));
      console.error(`round ${round}/${rounds}  ${contender.name.padEnd(18)} ${Math.round(results.at(-1)?.perSecond ?? 0)}/s`);
    }
  }

  const bareRate = median(inOrder[0]?.results ?? [], 'perSecond');
  const rows = inOrder.map(({ contender, results }): [string, object] => [
    contender.name,
    {
      'per second': Math.round(median(results, 'perSecond')),
      'of bare': (median(results, 'perSecond') / bareRate).toFixed(2),
      'node µs': median(results, 'nodeMicros').toFixed(1),
      'redis µs': median(results, 'redisMicros').toFixed(1),
    },
  ]);
  console.log(`${messages} messages, medians of ${rounds} rounds, Node ${process.version}; µs of processor time a message`);
  console.table(Object.fromEntries(rows));
} finally {
  control.disconnect();
  await server.stop();
}
