import { Redis } from 'ioredis';
import { type Contender, Sink } from './contender.js';
import { fillStream, GROUP, settled, STREAM } from './entries.js';

/** The least that can be done: read a hundred, decode, ack in a pipeline. No retries, no recovery, no fence. The mark that others are measured by. */
export const bare = (url: string, control: Redis): Contender => ({
  name: 'bare loop',
  fill: (count) => fillStream(control, count),
  async consume(count, stopwatch) {
    const redis = new Redis(url);
    const sink = new Sink(count, stopwatch);
    for (let done = 0; done < count;) {
      const reply = await redis.xreadgroup('GROUP', GROUP, 'w', 'COUNT', 100, 'BLOCK', 1_000, 'STREAMS', STREAM, '>');
      const entries = reply?.[0]?.[1] ?? [];
      await Promise.all(entries.map(async ([, fields]) => sink.handle(JSON.parse(fields?.[1] ?? 'null'))));
      void redis.xack(STREAM, GROUP, ...entries.map(([id]) => id));
      done += entries.length;
    }
    await settled(redis);
    stopwatch.ends();
    redis.disconnect();
  },
});
