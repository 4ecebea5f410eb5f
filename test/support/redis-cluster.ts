import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, startRedis, type RedisServer } from './redis-server.js';

const SLOTS = 16_384;

export interface RedisCluster {
  readonly masters: readonly ClusterMaster[];
  /** Stops all servers and removes their folders. */
  stop(): Promise<void>;
}

export interface ClusterMaster {
  readonly url: string;
  /** Whether the key's slot is this master's. */
  owns(key: string): Promise<boolean>;
}

/** Starts a Redis Cluster of its own: masters without replicas, the slots in equal parts. Ends when every node says that it works. */
export async function startCluster(size = 3): Promise<RedisCluster> {
  const buses = await Promise.all(Array.from({ length: size }, () => freePort()));
  const servers: RedisServer[] = [];
  const clients: Redis[] = [];
  const stop = async (): Promise<void> => {
    for (const client of clients) client.disconnect();
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    // The default bus port, ten thousand higher, is beyond what there is for many a free port.
    for (const bus of buses) servers.push(await startRedis({ args: ['--cluster-enabled', 'yes', '--cluster-port', String(bus)] }));
    clients.push(...servers.map(({ url }) => new Redis(url, { protocol: 2 })));
    for (const [i, client] of clients.entries()) {
      await client.cluster('SET-CONFIG-EPOCH', i + 1);
      await client.call('CLUSTER', 'ADDSLOTSRANGE', firstSlot(i, size), firstSlot(i + 1, size) - 1);
    }
    for (const [i, server] of servers.entries()) {
      if (i > 0) await clients[0]?.call('CLUSTER', 'MEET', '127.0.0.1', server.port, buses[i] ?? 0);
    }
    await Promise.all(clients.map((client) => untilItWorks(client, size)));
  } catch (error) {
    await stop();
    throw error;
  }
  const masters = clients.map((client, i) => ({
    url: servers[i]?.url ?? '',
    async owns(key: string): Promise<boolean> {
      const slot = Number(await client.call('CLUSTER', 'KEYSLOT', key));
      return slot >= firstSlot(i, size) && slot < firstSlot(i + 1, size);
    },
  }));
  return { masters, stop };
}

const firstSlot = (master: number, size: number): number => Math.floor((SLOTS / size) * master);

async function untilItWorks(client: Redis, size: number): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    const info = String(await client.call('CLUSTER', 'INFO'));
    if (info.includes('cluster_state:ok') && info.includes(`cluster_size:${size}`)) return;
    await sleep(20);
  }
  throw new Error('the cluster did not come about');
}
