import type { Redis } from 'ioredis';
import type { Contender } from './contender.js';

export interface Measured {
  readonly perSecond: number;
  /** Processor time of this process a message, microseconds. */
  readonly nodeMicros: number;
  /** Processor time of the server a message, microseconds. */
  readonly redisMicros: number;
}

/** One run: from the first message that is handled to the last that is settled. */
export async function measure(contender: Contender, count: number, control: Redis): Promise<Measured> {
  await contender.fill(count);
  const redisBefore = await serverMicros(control);
  let start = performance.now();
  let node = process.cpuUsage();
  let end = start;
  let used = node;
  await contender.consume(count, {
    begins: () => {
      start = performance.now();
      node = process.cpuUsage();
    },
    ends: () => {
      end = performance.now();
      used = process.cpuUsage(node);
    },
  });
  return {
    perSecond: (count * 1_000) / (end - start),
    nodeMicros: (used.user + used.system) / count,
    redisMicros: ((await serverMicros(control)) - redisBefore) / count,
  };
}

async function serverMicros(control: Redis): Promise<number> {
  const info = await control.info('cpu');
  return [...info.matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm)].reduce((sum, [, seconds]) => sum + Number(seconds) * 1e6, 0);
}

export function median<Figure extends string>(runs: readonly Readonly<Record<Figure, number>>[], figure: Figure): number {
  return runs.map((run) => run[figure]).toSorted((a, b) => a - b)[Math.floor(runs.length / 2)] ?? Number.NaN;
}
