import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCluster, type ClusterMaster, type RedisCluster } from '../support/redis-cluster.js';
import { redisUnderTest } from '../support/redis-under-test.js';
import { holdsTheContract } from './store-suite.js';

const MASTERS = [0, 1, 2];

/**
 * All that belongs to one stream is in one slot, so that the master which has the slot can do everything that a store promises of it. What
 * is asked of a real Cluster here: that keys, scripts and their declarations say so.
 */
describe('the Redis store on a cluster of three masters', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startCluster(MASTERS.length);
  });
  afterAll(async () => {
    await cluster.stop();
  });

  const masterOf = (at: number): ClusterMaster => {
    const master = cluster.masters[at];
    if (!master) throw new Error('there is no such master');
    return master;
  };

  it('is refused what another master has', async () => {
    const here = await redisUnderTest(masterOf(0).url, { cluster: true });
    const there = await redisUnderTest(masterOf(1).url, { cluster: true, owns: masterOf(1).owns });
    try {
      const stream = await there.newStream();
      await expect(here.store.append(stream, [['body', Buffer.from('1')]], { waitMs: 5_000 })).rejects.toMatchObject({
        fault: 'refused',
        applied: 'no',
        message: expect.stringContaining('MOVED'),
      });
      await there.store.append(stream, [['body', Buffer.from('1')]], { waitMs: 5_000 });
    } finally {
      await Promise.all([here.close(), there.close()]);
    }
  });

  describe.each(MASTERS)('at master %i', (at) => {
    holdsTheContract(() => redisUnderTest(masterOf(at).url, { cluster: true, owns: masterOf(at).owns }));
  });
});
