import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fixed } from '../../lib/consumer/backoff.js';
import { RejectMessage } from '../../lib/handlers/message.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { Worker } from '../support/workers.js';

const run = promisify(execFile);

let server: RedisServer;
let worker: Worker;

/** What a person sees who types it: one value a line. */
async function cli(...args: string[]): Promise<string[]> {
  const { stdout } = await run('redis-cli', ['-p', String(server.port), ...args]);
  return stdout.trimEnd().split('\n');
}

/** Names and values in turn, as XINFO shows them. */
const table = (lines: readonly string[]): Map<string, string> =>
  new Map(lines.flatMap((line, at) => (at % 2 === 0 ? [[line, lines[at + 1] ?? '']] : [])));

beforeAll(async () => {
  server = await startRedis();
});

afterAll(async () => {
  await server.stop();
});

describe('redis-cli, beside a worker that handled four messages of which one waits for its retry and one more was given up', () => {
  beforeEach(async () => {
    await cli('FLUSHALL');
    worker = new Worker({
      url: server.url,
      stream: 'tasks',
      group: 'workers',
      handler: (body: { n: number }) => {
        if (body.n === 2) throw new Error('not yet');
        if (body.n === 5) throw new RejectMessage('never');
      },
      options: { backoff: fixed(60_000) },
      module: { worker: 'w1', blockMs: 200 },
    }).start();
    await worker.untilConsuming();
    for (const n of [1, 2, 3, 4]) await worker.broker.publish(worker.stream, { n });
    await worker.until(() => worker.of('settled').reduce((sum, { count }) => sum + count, 0) === 4, 'four settled');
  });

  afterEach(() => worker.stop());

  it('shows the stream, its group and what waits, owned by ~parked', async () => {
    const failed = worker.of('handled').find(({ outcome }) => outcome === 'retried');
    expect(await cli('XLEN', 'tasks')).toEqual(['4']);

    const group = table(await cli('XINFO', 'GROUPS', 'tasks'));
    expect(Object.fromEntries(group)).toMatchObject({ name: 'workers', pending: '1', 'entries-read': '4', lag: '0' });

    const consumers = await cli('XINFO', 'CONSUMERS', 'tasks', 'workers');
    const rows = [0, 1].map((at) => table(consumers.slice(at * (consumers.length / 2), (at + 1) * (consumers.length / 2))));
    expect(rows.map((row) => [row.get('name'), row.get('pending')])).toEqual([
      ['w1', '0'],
      ['~parked', '1'],
    ]);

    expect(await cli('XPENDING', 'tasks', 'workers')).toEqual(['1', failed?.id, failed?.id, '~parked', '1']);
    const [id, owner, idle, deliveries] = await cli('XPENDING', 'tasks', 'workers', '-', '+', '10');
    expect([id, owner, deliveries]).toEqual([failed?.id, '~parked', '1']);
    expect(Number(idle)).toBeLessThan(10_000);
  });

  it('shows the heartbeat, which lives for a minute, and the workers before and after a stop', async () => {
    expect(await cli('KEYS', 'rillkit:workers:*')).toEqual(['rillkit:workers:tasks:workers:w1']);
    expect(Number((await cli('TTL', 'rillkit:workers:tasks:workers:w1'))[0])).toBeOneOf([59, 60]);
    expect(await worker.broker.activeWorkers('tasks', { group: 'workers' })).toEqual(['w1']);
    expect(await worker.broker.activeWorkers(worker.stream, { group: 'workers' })).toEqual(['w1']);
    await worker.consumers.stop();
    expect(await worker.broker.activeWorkers('tasks', { group: 'workers' })).toEqual([]);
    expect(await cli('KEYS', 'rillkit:workers:*')).toEqual(['']);
    expect(await cli('XINFO', 'CONSUMERS', 'tasks', 'workers')).toEqual(expect.not.arrayContaining(['w1']));
  });

  it('shows a dead letter with its own fields first, then why', async () => {
    const { id, messageId } = await worker.broker.publish(worker.stream, { n: 5 });
    await worker.until(() => worker.of('deadLettered').length === 1, 'the dead letter');
    const [letter, ...fields] = await cli('XRANGE', 'tasks-dlq', '-', '+');
    expect(letter).toMatch(/^\d+-\d+$/);
    expect(fields.slice(0, 4)).toEqual(['body', '{"n":5}', 'messageId', messageId]);
    expect(Object.fromEntries(table(fields))).toMatchObject({
      'rillkit:stream': 'tasks',
      'rillkit:entry': id,
      'rillkit:group': 'workers',
      'rillkit:worker': 'w1',
      'rillkit:attempts': '1',
      'rillkit:deliveries': '1',
      'rillkit:reason': 'rejected',
      'rillkit:error': 'RejectMessage',
      'rillkit:message': 'never',
    });
  });

  it('publishes by hand: a body is all it takes', async () => {
    const [id = ''] = await cli('XADD', 'tasks', '*', 'body', '{"n":9}');
    await worker.until(() => worker.of('handled').some((event) => event.id === id), 'the one by hand');
    expect(worker.of('handled').find((event) => event.id === id)).toMatchObject({ outcome: 'acked' });
  });
});

describe('a replayed dead letter', () => {
  it('R7 runs in the group that gave it up and in no other, with the same messageId and a higher fence', async () => {
    const seen: { group: string; messageId: string; fence: string; id: string }[] = [];
    let broken = true;
    const make = (group: string): Worker =>
      new Worker({
        url: server.url,
        stream: 'replayed',
        group,
        handler: (_body, { messageId, fence, id }) => {
          seen.push({ group, messageId, fence, id });
          if (group === 'billing' && broken) throw new RejectMessage('the bank is closed');
        },
      }).start();
    const [billing, audit] = [make('billing'), make('audit')];
    try {
      await billing.broker.publish('replayed', { n: 1 });
      await billing.until(() => billing.of('deadLettered').length === 1, 'the dead letter');
      await audit.until(() => audit.of('handled').length === 1, 'the other group');
      broken = false;
      const { replayed } = await billing.broker.replayDlq('replayed', { group: 'billing' });
      expect(replayed).toHaveLength(1);
      await billing.until(() => billing.of('handled').length === 2, 'the replay');
      await audit.until(() => audit.of('settled').reduce((sum, { count }) => sum + count, 0) === 2, 'the other group acks it');
      const [first, second] = seen.filter(({ group }) => group === 'billing');
      expect(second?.messageId).toBe(first?.messageId);
      expect(second && first && second.fence > first.fence).toBe(true);
      expect(audit.runs).toHaveLength(1);
      expect(billing.of('handled')).toMatchObject([{ outcome: 'dead' }, { outcome: 'acked', attempt: 1 }]);
      expect(await billing.broker.stats('replayed', { group: 'audit' })).toMatchObject({ pending: 0, undelivered: 0, deadLetters: 0 });
    } finally {
      await Promise.all([billing.stop(), audit.stop()]);
    }
  });
});
