import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { fromEnv } from '../../lib/broker/from-env.js';
import { Stream } from '../../lib/broker/stream.js';
import { fixed } from '../../lib/consumer/backoff.js';
import { resolveHandlerOptions, resolveOptions } from '../../lib/rillkit.options.js';
import { MemoryStore } from '../../lib/store/memory/memory-store.js';

/** As a program without types would call it. */
const resolve = (options: unknown): unknown => Reflect.apply(resolveOptions, undefined, [options]);
const resolveHandler = (own: unknown, stream = new Stream('orders'), defaults = {}): unknown =>
  Reflect.apply(resolveHandlerOptions, undefined, [own, { id: 'Orders.bill', stream, defaults }]);
const optionError = (message: RegExp) => expect.objectContaining({ code: 'RILLKIT_OPTION', message: expect.stringMatching(message) });

describe('the module options', () => {
  it('are complete when nothing is given', () => {
    expect(resolveOptions({ connection: 'redis://localhost' })).toEqual({
      connection: 'redis://localhost',
      group: null,
      worker: null,
      blockMs: 5_000,
      liveness: { leaseMs: 6_000, heartbeat: true, heartbeatTtlMs: 60_000 },
      publishTimeoutMs: 5_000,
      shutdown: { graceMs: 10_000, abortMs: 1_000 },
      defaults: {},
    });
  });

  it('take undefined as absent, everywhere', () => {
    const keys = ['connection', 'group', 'worker', 'blockMs', 'liveness', 'publishTimeoutMs', 'shutdown', 'defaults', 'prefix', 'typo'];
    const nothing = Object.fromEntries(keys.map((key) => [key, undefined]));
    expect(resolve(nothing)).toEqual(resolve({}));
    expect(resolve({ liveness: { leaseMs: undefined }, shutdown: { graceMs: undefined }, defaults: { count: undefined } })).toMatchObject({
      liveness: { leaseMs: 6_000 },
      shutdown: { graceMs: 10_000 },
    });
  });

  it.each<[unknown, RegExp]>([
    [{ blockMs: 0 }, /^blockMs: must be a whole number of milliseconds, from 100 to 30 000, not 0$/],
    [{ blockMs: 99 }, /^blockMs/],
    [{ blockMs: 30_001 }, /^blockMs/],
    [{ blockMs: NaN }, /^blockMs.*NaN/],
    [{ blockMs: null }, /^blockMs.*null/],
    [{ publishTimeoutMs: -1 }, /^publishTimeoutMs/],
    [{ publishTimeoutMs: 2 ** 31 }, /^publishTimeoutMs/],
    [{ liveness: { leaseMs: '30s' } }, /^liveness\.leaseMs: must be a whole number of milliseconds, from 1 000 to .*, not '30s'$/],
    [{ liveness: { leaseMs: 999 } }, /^liveness\.leaseMs/],
    [{ liveness: { leaseMs: null } }, /^liveness\.leaseMs/],
    [{ liveness: { heartbeat: 1 } }, /^liveness\.heartbeat: must be true or false, not 1$/],
    [{ liveness: { heartbeatTtlMs: 2_999 } }, /^liveness\.heartbeatTtlMs/],
    [{ liveness: { leaseMs: 61_000 } }, /^liveness\.heartbeatTtlMs: must be at least liveness\.leaseMs \(61000\)/],
    [{ liveness: 'fast' }, /^liveness: must be an object/],
    [{ liveness: { lease: 5 } }, /^liveness\.lease: is not known here; known are leaseMs, heartbeat, heartbeatTtlMs$/],
    [{ shutdown: { graceMs: -1 } }, /^shutdown\.graceMs/],
    [{ shutdown: { abortMs: Infinity } }, /^shutdown\.abortMs/],
    [{ group: '' }, /^group: /],
    [{ group: '~g' }, /^group: /],
    [{ worker: '~w' }, /^worker: /],
    [{ worker: 5 }, /^worker: must be a string, not 5$/],
    [{ grup: 'billing' }, /^grup: is not known here/],
    [{ defaults: { concurrency: 0 } }, /^defaults\.concurrency/],
    [{ defaults: { id: 'x' } }, /^defaults\.id: is not known here/],
    [{ defaults: { group: 'a' }, group: 'b' }, /^defaults\.group/],
    [5, /^options: must be an object, not 5$/],
    [[], /^options: must be an object, not an array$/],
  ])('V5 refuse %j', (options, message) => {
    expect(() => resolve(options)).toThrow(optionError(message));
  });

  it.each([
    ['prefix', { prefix: 'x' }],
    ['autoStart', { autoStart: false }],
    ['handlers', { handlers: {} }],
    ['globalEnhancers', { globalEnhancers: true }],
    ['hooks', { hooks: {} }],
    ['preflight', { preflight: 'warn' }],
    ['name', { name: 'audit' }],
    ['liveness.thread', { liveness: { thread: true } }],
    ['liveness.maxBlockedMs', { liveness: { maxBlockedMs: 5 } }],
    ['defaults.type', { defaults: { type: 'x' } }],
    ['connection', { connection: { nodes: [] } }],
  ])('say of %s that it is not there yet', (option, options) => {
    expect(() => resolve(options)).toThrow(expect.objectContaining({ option, message: expect.stringContaining('is not there yet') }));
  });

  it('let a long lease be when there is no heartbeat to outlive it', () => {
    expect(resolveOptions({ liveness: { leaseMs: 61_000, heartbeat: false } }).liveness.leaseMs).toBe(61_000);
  });

  it("take the group of the defaults as the module's", () => {
    expect(resolveOptions({ defaults: { group: 'billing' } }).group).toBe('billing');
  });
});

describe('a connection', () => {
  it('is a URL, options, both, a client, or memory', () => {
    const client = new Redis({ lazyConnect: true });
    for (const connection of [
      'redis://h',
      'rediss://u:p@h:1/2',
      { host: 'h' },
      { path: '/tmp/s' },
      { url: 'redis://h', db: 1 },
      client,
      'memory',
      new MemoryStore(),
      {},
    ]) {
      expect(resolve({ connection })).toMatchObject({ connection });
    }
    client.disconnect();
  });

  it.each([['http://h'], ['h:6379'], [''], [5], [null], [[]], [{ url: 'h' }], [{ url: 5 }], ['redis:secret@:x:y']])(
    'is not %j',
    (connection) => {
      expect(() => resolve({ connection })).toThrow(optionError(/^connection/));
    },
  );

  it('is never shown in an error: it may hold a password', () => {
    expect(() => resolve({ connection: 'http://u:secret@h' })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    );
  });
});

describe('the options of a handler', () => {
  it('are complete when nothing is given', () => {
    expect(resolveHandler({})).toEqual({
      id: 'Orders.bill',
      concurrency: 1,
      maxRetries: 3,
      backoff: expect.any(Function),
      retryIf: expect.any(Function),
      timeoutMs: null,
      maxHandBacks: 8,
      ackPolicy: 'nackOnError',
      count: 100,
      prefetch: 'auto',
      claimIdleMs: 60_000,
      startFrom: 'beginning',
    });
  });

  it("go before the module's defaults, which go before ours", () => {
    const backoff = fixed(5);
    const own = { id: 'bill', concurrency: 16, maxRetries: 0, prefetch: 0 };
    expect(resolveHandler(own, undefined, { concurrency: 2, count: 7, maxRetries: 9, backoff })).toMatchObject({
      id: 'bill',
      concurrency: 16,
      maxRetries: 0,
      prefetch: 0,
      count: 7,
      backoff,
    });
  });

  it('begin where the handler says, else the stream, else the defaults', () => {
    const stream = new Stream('orders', { startFrom: 'new' });
    expect(resolveHandler({ startFrom: '5-0' }, stream, { startFrom: 'beginning' })).toMatchObject({ startFrom: '5-0' });
    expect(resolveHandler({}, stream, { startFrom: 'beginning' })).toMatchObject({ startFrom: 'new' });
    expect(resolveHandler({}, undefined, { startFrom: 'new' })).toMatchObject({ startFrom: 'new' });
  });

  it.each<[string, unknown]>([
    ['id', ''],
    ['group', '~x'],
    ['concurrency', 0],
    ['concurrency', 10_001],
    ['concurrency', '16'],
    ['maxRetries', -1],
    ['maxRetries', 901],
    ['maxRetries', NaN],
    ['maxRetries', null],
    ['backoff', 500],
    ['retryIf', true],
    ['timeoutMs', 0],
    ['timeoutMs', '30s'],
    ['maxHandBacks', 1_001],
    ['maxHandBacks', -1],
    ['ackPolicy', 'never'],
    ['count', 0],
    ['count', 1_001],
    ['prefetch', 'all'],
    ['prefetch', -1],
    ['claimIdleMs', 0],
    ['startFrom', '0'],
    ['typo', 1],
    ['type', 'paid'],
    ['broker', 'audit'],
    ['autoStart', false],
  ])('V5 refuse %s: %o, and name the handler', (option, value) => {
    expect(() => resolveHandler({ [option]: value })).toThrow(optionError(new RegExp(`^Orders\\.bill\\.${option}: `)));
  });
});

describe('fromEnv', () => {
  it('is localhost when the environment says nothing, or says it with empty strings', () => {
    expect(fromEnv({})).toEqual({ host: 'localhost', port: 6_379, db: 0 });
    expect(fromEnv({ REDIS_URL: '', REDIS_HOST: '', REDIS_PORT: '', REDIS_SSL: '', REDIS_DB: '' })).toEqual(fromEnv({}));
  });

  it('lets the URL win over the parts', () => {
    expect(fromEnv({ REDIS_URL: 'redis://a', REDIS_HOST: 'b', REDIS_PORT: 'x' })).toBe('redis://a');
  });

  it('reads the parts', () => {
    const env = { REDIS_HOST: 'h', REDIS_PORT: '6380', REDIS_USERNAME: 'u', REDIS_PASSWORD: 'p', REDIS_DB: '2', REDIS_SSL: 'Yes' };
    expect(fromEnv(env)).toEqual({ host: 'h', port: 6_380, username: 'u', password: 'p', db: 2, tls: {} });
  });

  it.each(['1', 'true', 'yes', 'on', 'TRUE'])('takes REDIS_SSL=%s as yes', (REDIS_SSL) =>
    expect(fromEnv({ REDIS_SSL })).toHaveProperty('tls'),
  );
  it.each(['0', 'false', 'no', 'off', ''])('takes REDIS_SSL=%s as no', (REDIS_SSL) =>
    expect(fromEnv({ REDIS_SSL })).not.toHaveProperty('tls'),
  );

  it.each([
    ['REDIS_URL', 'localhost:6379'],
    ['REDIS_SSL', 'maybe'],
    ['REDIS_PORT', 'x'],
    ['REDIS_PORT', '0'],
    ['REDIS_PORT', '65536'],
    ['REDIS_PORT', '6379x'],
    ['REDIS_DB', '-1'],
  ])('refuses %s=%s and names the variable', (name, value) => {
    expect(() => fromEnv({ [name]: value })).toThrow(optionError(new RegExp(`^${name}: `)));
  });
});
