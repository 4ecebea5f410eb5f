import { describe, expect, it } from 'vitest';
import { Stream } from '../../lib/broker/stream.js';
import { bind } from '../../lib/handlers/bind.js';
import type { FoundHandler } from '../../lib/handlers/explorer.js';
import { DuplicateHandlerError, HandlerError, NameError, OptionError } from '../../lib/rillkit.errors.js';
import { resolveOptions, type RillkitModuleOptions, type StreamHandlerOptions } from '../../lib/rillkit.options.js';

const handler = (stream: Stream | string, options: StreamHandlerOptions = {}, name = 'Billing.bill'): FoundHandler => ({
  name,
  stream,
  options,
  host: undefined,
  invoke: () => undefined,
});

const bound = (handlers: readonly FoundHandler[], options: RillkitModuleOptions = { group: 'module' }) =>
  bind(handlers, resolveOptions({ connection: 'redis://localhost', ...options }));

describe('binding a handler', () => {
  it('takes the group of the handler, else of the stream, else of the module', () => {
    const orders = new Stream('orders', { group: 'stream' });
    expect(bound([handler(orders, { group: 'handler' })])[0]?.group).toBe('handler');
    expect(bound([handler(orders)])[0]?.group).toBe('stream');
    expect(bound([handler('orders')])[0]?.group).toBe('module');
  });

  it('without any group names the three places where one can stand', () => {
    expect(() => bound([handler('orders')], {})).toThrow(HandlerError);
    expect(() => bound([handler('orders')], {})).toThrow(
      /^Billing\.bill handles "orders" in no group\. .*@StreamHandler\("orders", \{ group }\).*new Stream\("orders", \{ group }\).*RillkitModule\.forRoot\(\{ group }\)/,
    );
  });

  it('completes its options, its own before the defaults', () => {
    const [binding] = bound([handler('orders', { concurrency: 4 })], { group: 'g', defaults: { concurrency: 2, maxRetries: 7 } });
    expect(binding?.options).toMatchObject({ id: 'Billing.bill', concurrency: 4, maxRetries: 7, claimIdleMs: 60_000 });
  });

  it('V5 refuses a wrong option by its name', () => {
    expect(() => bound([handler('orders', { concurrency: 0 })])).toThrow(OptionError);
    expect(() => bound([handler('orders', { concurrency: 0 })])).toThrow(/^Billing\.bill\.concurrency: /);
  });

  it('G6 refuses two handlers of one stream and group, and takes two groups', () => {
    const twice = [handler('orders', {}, 'A.one'), handler(new Stream('orders'), {}, 'B.two')];
    expect(() => bound(twice)).toThrow(DuplicateHandlerError);
    expect(() => bound(twice)).toThrow(/^A\.one and B\.two both handle "orders" in group "module"/);
    expect(bound([handler('orders', { group: 'a' }), handler('orders', { group: 'b' })])).toHaveLength(2);
    // Names that would read the same if they were joined.
    expect(bound([handler('orders:a', { group: 'b' }), handler('orders', { group: 'a:b' })])).toHaveLength(2);
  });

  it('N6 refuses a stream that is named like the dead letters of another, and one that meets another on a Cluster', () => {
    expect(() => bound([handler('orders-dlq'), handler('orders')])).toThrow(NameError);
    expect(() => bound([handler('orders'), handler('{orders}')])).toThrow(NameError);
    expect(() => bound([handler('{orders}-dlq'), handler('orders')])).toThrow(NameError);
    expect(() => bound([handler('{orders}-dlq'), handler('{orders}')])).toThrow(NameError);
    expect(bound([handler('orders-dlq')])).toHaveLength(1);
  });
});
