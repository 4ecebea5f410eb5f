import { Redis, type RedisOptions } from 'ioredis';
import { OptionError } from '../../rillkit.errors.js';
import type { RedisConnectionOption } from '../../rillkit.options.js';
import { isReadOnly } from './errors.js';

/** How long connecting may take, to the point where commands can be sent, milliseconds; where `connectTimeout` is not given. */
const CONNECT_TIMEOUT_MS = 5_000;

/** The options of one client of ours. */
export type ClientOptions = Omit<RedisOptions, 'replyMapping'> & { readonly connectTimeout: number; replyMapping: 'legacy' };

/** Makes ioredis options of what the user gave. Nothing is connected. @throws OptionError */
export function redisOptionsOf(connection: RedisConnectionOption): RedisOptions {
  const options = read(connection);
  if (options.keyPrefix) {
    throw new OptionError(
      'connection',
      'must not have a keyPrefix: ioredis puts it before the keys of a call, yet answers name keys with it, so streams would not be recognised. Put the prefix into the names of your streams.',
    );
  }
  return options;
}

function read(connection: RedisConnectionOption): RedisOptions {
  if (typeof connection === 'string') return parse(connection, {});
  if (isClient(connection)) {
    if ('isCluster' in connection && connection.isCluster) throw clusterIsNotThere();
    return { ...connection.options };
  }
  if ('nodes' in connection) throw clusterIsNotThere();
  if (!('url' in connection)) return { ...connection };
  const { url, ...rest } = connection;
  return parse(url, rest);
}

/** By shape: the application may have another copy of ioredis than we have. */
const isClient = (connection: object): connection is Redis =>
  'duplicate' in connection && typeof connection.duplicate === 'function' && 'options' in connection;

const clusterIsNotThere = (): OptionError => new OptionError('connection', 'a Cluster is not supported yet; give one server or Sentinel');

/** ioredis reads URLs in its constructor alone. The client made for that never connects. */
function parse(url: string, rest: RedisOptions): RedisOptions {
  try {
    const client = new Redis(url, { ...rest, lazyConnect: true, replyMapping: 'legacy' });
    client.on('error', () => {});
    client.disconnect();
    return { ...client.options };
  } catch {
    // Without the cause, whose text may quote the URL and with it the password.
    throw new OptionError('connection', 'is not a URL that ioredis can read; redis://user:password@host:port/db is the form');
  }
}

/**
 * What holds for all our clients, whatever the user's options say: we connect again by ourselves, nothing waits in a queue or is sent a
 * second time behind our back, and everything ends, by an answer, an error, or `socketTimeoutMs` without a sign of life.
 */
export function clientOptions(options: RedisOptions, connectionName: string, socketTimeoutMs: number): ClientOptions {
  const { scripts: _scripts, himportFieldsets: _fieldsets, ...rest } = options;
  return {
    ...rest,
    connectionName,
    lazyConnect: true,
    connectTimeout: rest.connectTimeout ?? CONNECT_TIMEOUT_MS,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
    // A replica behind the address of a former master: connecting again finds the new one. The command has been refused, and is not sent again.
    reconnectOnError: isReadOnly,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: null,
    commandTimeout: undefined,
    blockingTimeout: undefined,
    socketTimeout: socketTimeoutMs,
    disconnectTimeout: 100,
    monitor: false,
    readOnly: false,
    stringNumbers: false,
    // One shape of replies, whatever server and version of ioredis.
    protocol: 2,
    replyMapping: 'legacy',
  };
}
