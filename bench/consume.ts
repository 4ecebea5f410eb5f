// How fast are messages handled when handlers do nothing? A bare Redis Streams loop, this library and BullMQ, in one run, in turn.
//   npm run bench -- --messages 60000 --rounds 5
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { startRedis } from '../test/support/redis-server.js';
import { bare } from './bare.js';
import { bullmq } from './bullmq.js';
import type { Contender } from './contender.js';
import { measure, median, type Measured } from './measure.js';
import { rillkit } from './rillkit.js';

const { values } = parseArgs({ options: { messages: { type: 'string', default: '60000' }, rounds: { type: 'string', default: '5' } } });
const messages = Number(values.messages);
const rounds = Number(values.rounds);
// Fewer for BullMQ: it takes several times as long for each, and its rate does not depend on how many there are.
const few = Math.ceil(messages / 6);

interface Run extends Measured {
  /** How this run's rate stands to that of the bare loop just before: whatever else the machine does weighs on both. */
  readonly ofBare: number;
}

const server = await startRedis();
const control = new Redis(server.url);
const runs = new Map<string, Run[]>();

async function run(contender: Contender, count: number, bareRate?: number): Promise<number> {
  const measured = await measure(contender, count, control);
  const ofBare = measured.perSecond / (bareRate ?? measured.perSecond);
  runs.set(contender.name, [...(runs.get(contender.name) ?? []), { ...measured, ofBare }]);
  console.error(`${contender.name.padEnd(18)} ${Math.round(measured.perSecond)}/s, ${ofBare.toFixed(2)} of bare`);
  return measured.perSecond;
}

try {
  // Code that has not run yet is slow: one round that does not count.
  for (let round = 0; round <= rounds; round += 1) {
    console.error(round === 0 ? 'warming up' : `round ${round} of ${rounds}`);
    for (const concurrency of [1, 10, 100]) {
      const bareRate = await run(bare(server.url, control), messages);
      await run(rillkit(server.url, control, concurrency), messages, bareRate);
      await run(bullmq(server.url, control, concurrency), few, bareRate);
    }
    if (round === 0) runs.clear();
  }
  console.log(`${messages} messages, medians of ${rounds} rounds, Node ${process.version}; µs are of processor time, a message`);
  console.table(Object.fromEntries([...runs].map(([name, results]) => [name, row(results)])));
} finally {
  control.disconnect();
  await server.stop();
}

function row(results: readonly Run[]): object {
  return {
    'per second': Math.round(median(results, 'perSecond')),
    'of bare': median(results, 'ofBare').toFixed(2),
    'node µs': median(results, 'nodeMicros').toFixed(1),
    'redis µs': median(results, 'redisMicros').toFixed(1),
  };
}
