import { isOptions, show } from './option-checks.js';
import { OptionError } from './rillkit.errors.js';

const SHAPES = 'must be a URL (redis:// or rediss://), ioredis options, or an ioredis client';

/**
 * Checks the shape of a connection: what it leads to is found out when it is used. Never shows any of it, since it may hold a password.
 * @throws OptionError
 */
export function checkConnection(option: string, connection: unknown): void {
  if (typeof connection === 'string') checkUrl(option, connection);
  else if (!isOptions(connection)) throw new OptionError(option, `${SHAPES}, not ${show(connection)}`);
  else if (connection['isCluster'] === true || 'nodes' in connection) throw new OptionError(option, 'a Redis Cluster is not there yet');
  else if ('url' in connection && connection['url'] !== undefined) checkUrl(`${option}.url`, connection['url']);
}

function checkUrl(option: string, url: unknown): void {
  if (url === 'memory') throw new OptionError(option, "'memory' is not there yet");
  if (typeof url !== 'string' || !/^rediss?:\/\//.test(url) || !URL.canParse(url)) throw new OptionError(option, SHAPES);
}
