import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { Keys } from '../../lib/store/redis/keys.js';
import { infoOf, listOf, textOf } from '../../lib/store/redis/replies.js';
import type { Worker } from './workers.js';

export interface Expected {
  /** The stream's name. */
  readonly stream: string;
  /** @default 'billing' */
  readonly group?: string;
  /** Ids of all that was published; each must have ended once. */
  readonly published: readonly string[];
  /** Those of them that were trimmed, deleted or in a group that was destroyed: they may have ended, or not. */
  readonly lost?: readonly string[];
  /** Names that others bury in time: of workers that were killed, or could not sign off surely. */
  readonly unburied?: readonly string[];
}

const UNREAD = /^-?inf$/;
const keys = new Keys(false);

/** Watches for rejections that nobody caught in this process; answers the check for `afterEach`. */
export function watchRejections(): () => void {
  const caught: unknown[] = [];
  process.on('unhandledRejection', (error) => caught.push(error));
  return () => expect(caught, 'rejections that nobody caught').toEqual([]);
}

/** What must hold when the work is done and all have stopped; nothing pending, parked or leased, no consumer and no connection of ours. */
export async function expectAllEnded(
  url: string,
  { stream, group = 'billing', published, lost = [], unburied = [] }: Expected,
): Promise<void> {
  const redis = new Redis(url);
  try {
    const place = { stream, group };
    expect(await redis.xpending(stream, group, '-', '+', 10), 'the pending list').toEqual([]);
    const parked = await redis.zrange(keys.parked(place), '0', '-1', 'WITHSCORES');
    expect(
      parked.filter((part) => part !== '~' && !UNREAD.test(part)),
      'parked rows',
    ).toEqual([]);
    const leases = await redis.zrange(keys.leases(place), '0', '-1');
    const standing = (row: string): boolean =>
      ['~beat', '~scan', '~pause'].includes(row) || unburied.some((name) => row === name || row === `~@${name}`);
    expect(
      leases.filter((row) => !standing(row)),
      'rows of leases',
    ).toEqual([]);
    const consumers = listOf(await redis.callBuffer('XINFO', 'CONSUMERS', stream, group)).map((one) => textOf(infoOf(one).get('name')));
    expect(
      consumers.filter((name) => name !== '~parked' && !unburied.includes(name)),
      'consumers',
    ).toEqual([]);
    const [last] = listOf(await redis.callBuffer('XINFO', 'GROUPS', stream))
      .map(infoOf)
      .filter((info) => textOf(info.get('name')) === group)
      .map((info) => textOf(info.get('last-delivered-id')));
    const unread = (await redis.xrange(stream, `(${last}`, '+')).map(([id]) => id);
    expect(
      unread.filter((id) => published.includes(id)),
      'never delivered',
    ).toEqual([]);
    const dead = (await redis.xrange(`${stream}-dlq`, '-', '+')).flatMap(([, fields]) => fields[fields.indexOf('rillkit:entry') + 1] ?? []);
    expect(new Set(dead).size, 'one dead letter each').toBe(dead.length);
    expect(
      dead.filter((id) => !published.includes(id) && !lost.includes(id)),
      'dead letters of ours',
    ).toEqual([]);
    const clients = textOf(await redis.callBuffer('CLIENT', 'LIST')).split('\n');
    expect(
      clients.filter((line) => / name=rillkit:/.test(line)),
      'open connections',
    ).toEqual([]);
  } finally {
    redis.disconnect();
  }
}

/** Each message that was published ended here, once unless it may have run `twice`: acked, or a dead letter. */
export function expectEndedOnce(
  workers: readonly Worker[],
  published: readonly string[],
  { twice = false, stream = workers[0]?.stream.name } = {},
): void {
  const ends = new Map<string, number>();
  for (const worker of workers) {
    expect(worker.listenerErrors).toEqual([]);
    for (const { id, outcome, ...at } of worker.of('handled'))
      if (outcome === 'acked' && at.stream === stream) ends.set(id, (ends.get(id) ?? 0) + 1);
    for (const { id, ...at } of worker.of('deadLettered')) if (at.stream === stream) ends.set(id, (ends.get(id) ?? 0) + 1);
  }
  if (twice) return;
  expect(
    published.filter((id) => !ends.has(id)),
    'messages without an end',
  ).toEqual([]);
  expect(
    published.filter((id) => (ends.get(id) ?? 0) > 1),
    'messages with two ends',
  ).toEqual([]);
}
