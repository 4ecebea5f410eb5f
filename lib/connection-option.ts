import { isOptions, show } from './option-checks.js';
import { OptionError } from './rillkit.errors.js';
import { MemoryStore } from './store/memory/memory-store.js';

const SHAPES = "must be a URL (redis:// or rediss://), ioredis options, an ioredis client, 'memory' or a MemoryStore";

/**
 * Checks the shape of a connection: what it leads to is found out when it is used. Never shows any of it, since it may hold a password.
 * @throws OptionError
 */
export function checkConnection(option: string, connection: unknown): void {
  if (connection === 'memory' || connection instanceof MemoryStore) return;
  if (typeof connection === 'string') checkUrl(option, connection);
  else if (!isOptions(connection)) throw new OptionError(option, `${SHAPES}, not ${show(connection)}`);
  else if (connection['isCluster'] === true || 'nodes' in connection) throw new OptionError(option, 'a Redis Cluster is not there yet');
  else if ('url' in connection && connection['url'] !== undefined) checkUrl(`${option}.url`, connection['url']);
}

function checkUrl(option: string, url: unknown): void {
  if (typeof url !== 'string' || !/^rediss?:\/\//.test(url) || !URL.canParse(url)) throw new OptionError(option, SHAPES);
}
