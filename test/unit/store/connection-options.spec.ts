import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../../lib/rillkit.errors.js';
import { clientOptions, redisOptionsOf } from '../../../lib/store/redis/connection-options.js';

describe('where Redis is', () => {
  it.each<[string, Parameters<typeof redisOptionsOf>[0]]>([
    ['a URL', 'redis://ann:s%40cret@redis.example:6380/2'],
    ['options', { host: 'redis.example', port: 6380, username: 'ann', password: 's@cret', db: 2 }],
    ['a URL and options', { url: 'redis://redis.example:6380/2', username: 'ann', password: 's@cret' }],
    ['a client', new Redis({ host: 'redis.example', port: 6380, username: 'ann', password: 's@cret', db: 2, lazyConnect: true })],
  ])('is read from %s', (_what, connection) => {
    expect(redisOptionsOf(connection)).toMatchObject({ host: 'redis.example', port: 6380, username: 'ann', password: 's@cret', db: 2 });
  });

  it('is read from a client of another copy of ioredis, by its shape', () => {
    const other = { options: { host: 'redis.example' }, duplicate: () => {} };
    const options: RedisOptions = Reflect.apply(redisOptionsOf, undefined, [other]);
    expect(options).toEqual({ host: 'redis.example' });
  });

  it('takes TLS from a URL', () => {
    expect(redisOptionsOf('rediss://redis.example').tls).toBeTruthy();
  });

  it.each<[string, Parameters<typeof redisOptionsOf>[0]]>([
    ['options', { keyPrefix: 'app:' }],
    ['a URL', 'redis://localhost?keyPrefix=app:'],
    ['a client', new Redis({ keyPrefix: 'app:', lazyConnect: true })],
  ])('refuses a keyPrefix in %s, with the reason', (_what, connection) => {
    expect(() => redisOptionsOf(connection)).toThrow(OptionError);
    expect(() => redisOptionsOf(connection)).toThrow(/keyPrefix.*streams would not be recognised/);
  });

  it('refuses a Cluster for now', () => {
    const cluster = new Cluster([], { lazyConnect: true });
    expect(() => Reflect.apply(redisOptionsOf, undefined, [cluster])).toThrow(/not supported yet/);
    expect(() => Reflect.apply(redisOptionsOf, undefined, [{ nodes: [] }])).toThrow(/not supported yet/);
  });
});

it("our clients' options hold against whatever the user's say", () => {
  const given: RedisOptions = {
    host: 'redis.example',
    connectTimeout: 1_234,
    commandTimeout: 10,
    blockingTimeout: 10,
    socketTimeout: 10,
    enableOfflineQueue: true,
    enableAutoPipelining: true,
    maxRetriesPerRequest: 20,
    autoResendUnfulfilledCommands: true,
    retryStrategy: () => 1,
    lazyConnect: false,
    stringNumbers: true,
    replyMapping: 'resp3',
    readOnly: true,
  };
  const options = clientOptions(given, 'rillkit:test', 7_000);
  expect(options).toMatchObject({
    host: 'redis.example',
    connectTimeout: 1_234,
    connectionName: 'rillkit:test',
    socketTimeout: 7_000,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    maxRetriesPerRequest: null,
    autoResendUnfulfilledCommands: false,
    lazyConnect: true,
    stringNumbers: false,
    replyMapping: 'legacy',
    readOnly: false,
  });
  expect(options.commandTimeout).toBeUndefined();
  expect(options.blockingTimeout).toBeUndefined();
  expect(options.retryStrategy?.(1)).toBeNull();
});
