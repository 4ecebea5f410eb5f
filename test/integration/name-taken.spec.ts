import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../lib/clock.js';
import { Heartbeat } from '../../lib/liveness/heartbeat.js';
import { Lease } from '../../lib/liveness/lease.js';
import { openStore, type OpenedStore } from '../support/redis-store.js';
import { uniqueName } from '../support/redis-server.js';

let opened: OpenedStore;
beforeEach(async () => void (opened = await openStore(inject('redisUrl'))));
afterEach(() => opened.close());

describe('a worker that finds its name taken by one whose lease is over', () => {
  it("tells of the other's messages: which it hands on, and which are lost to trimming", async () => {
    const { store, redis, events } = opened;
    const place = { stream: uniqueName(), group: 'billing' };
    const worker = 'w1';
    await store.ensureGroup(place, 'beginning');
    for (let n = 0; n < 3; n += 1) await store.append(place.stream, [['body', Buffer.from('1')]], { trim: undefined, waitMs: 1_000 });
    const [first] = await store.read(place, worker, 3);
    await store.beat([{ ...place, worker, tag: 1, leaseMs: 1_000, scanMs: 10_000, since: null, takeOver: false }]);
    await redis.xdel(place.stream, first?.id ?? '');
    await redis.zadd(store.keys.leases(place), 1, worker);

    const told: unknown[] = [];
    for (const type of ['lost', 'recovered', 'nameTaken'] as const) events.on(type, ({ type: is, ...rest }) => told.push([is, rest]));
    const heartbeat = new Heartbeat({
      store,
      clock: systemClock,
      events,
      liveness: { leaseMs: 1_000, heartbeat: false, heartbeatTtlMs: 60_000 },
      tag: 2,
      beating: [
        {
          ...place,
          worker,
          lease: new Lease(systemClock, 1_000, () => {}),
          due: { in: () => {} },
          suspect: () => {},
          regained: () => {},
          onChange: () => {},
        },
      ],
      listener: { found: () => {} },
    });
    await heartbeat.runOnce();
    expect(told).toEqual([
      ['nameTaken', { ...place, worker }],
      ['lost', { ...place, count: 1 }],
      ['recovered', { ...place, worker, count: 2 }],
    ]);
  });
});
