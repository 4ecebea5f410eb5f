import { Injectable, Module, type ModuleMetadata } from '@nestjs/common';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import { Broker, Message, RillkitModule, Stream, StreamHandler, type RillkitModuleOptions } from '../../lib/index.js';
import { DuplicateHandlerError, DuplicateModuleError, HandlerError, OptionError } from '../../lib/rillkit.errors.js';
import { makeApp, quick, startApp, type TestApp } from '../support/nest-app.js';
import { Proxy } from '../support/proxy.js';
import { uniqueName } from '../support/redis-server.js';

const url = inject('redisUrl');
const open: TestApp[] = [];

async function start(feature: ModuleMetadata, options: RillkitModuleOptions = { group: 'billing' }): Promise<TestApp> {
  @Module(feature)
  class FeatureModule {}
  const started = await startApp({ imports: [FeatureModule, RillkitModule.forRoot(quick(url, options))] });
  open.push(started);
  return started;
}

const making = (options: object): Promise<TestApp> => makeApp({ imports: [RillkitModule.forRoot({ connection: url, ...options })] });

afterEach(async () => {
  await Promise.all(open.splice(0).map(({ app }) => app.close()));
});

describe('handlers in a Nest application', () => {
  it('get the body and the message, and the Broker is injected by its class, anywhere', async () => {
    const Orders = new Stream<{ id: number }>(uniqueName());
    const seen: [{ id: number }, Message][] = [];
    @Injectable()
    class Billing {
      @StreamHandler(Orders)
      bill(order: { id: number }, message: Message<{ id: number }>): void {
        seen.push([order, message]);
      }
    }
    @Injectable()
    class Shop {
      constructor(readonly broker: Broker) {}
    }
    const { app, lines } = await start({ providers: [Billing, Shop] });
    const { id, messageId } = await app.get(Shop).broker.publish(Orders, { id: 1 });
    await vi.waitFor(() => expect(seen).toHaveLength(1));
    expect(seen[0]?.[0]).toEqual({ id: 1 });
    expect(seen[0]?.[1]).toMatchObject({ id, messageId, stream: Orders.name, group: 'billing', attempt: 1 });
    expect(lines.all).toContain(`log Mapped {${Orders.name} → billing} Billing.bill`);
    expect(lines.matching(/grows without limit/)).toHaveLength(1);
  });

  it('L3 inherited, overridden, aliased and factory-made ones each get a message once; one that lost its decorator gets none', async () => {
    const [inherited, overridden, again, lost, made] = ['inherited', 'overridden', 'again', 'lost', 'made'].map(uniqueName);
    const calls: string[] = [];
    class Base {
      @StreamHandler(inherited ?? '')
      inherited(): void {
        calls.push(`${this.constructor.name}.inherited`);
      }

      @StreamHandler(overridden ?? '')
      overridden(): void {
        calls.push('Base.overridden');
      }

      @StreamHandler(lost ?? '')
      lost(): void {
        calls.push('Base.lost');
      }
    }
    @Injectable()
    class Derived extends Base {
      @StreamHandler(again ?? '')
      override overridden(): void {
        calls.push('Derived.overridden');
      }

      override lost(): void {
        calls.push('Derived.lost');
      }
    }
    class Made {
      @StreamHandler(made ?? '')
      handle(): void {
        calls.push('Made.handle');
      }
    }
    const { app, lines } = await start({
      providers: [
        Derived,
        { provide: 'alias', useExisting: Derived },
        { provide: 'made', useFactory: async () => new Made() },
        { provide: 'made again', useFactory: (one: Made) => one, inject: ['made'] },
      ],
    });
    const broker = app.get(Broker);
    for (const stream of [inherited, overridden, again, lost, made]) await broker.publish(stream ?? '', {});
    await vi.waitFor(() => expect(calls).toHaveLength(3));
    expect(calls.toSorted()).toEqual(['Derived.inherited', 'Derived.overridden', 'Made.handle']);
    expect(lines.matching(/^warn Derived\.lost overrides a handler of Base/)).toHaveLength(1);
    await Promise.all(open.splice(0).map((one) => one.app.close()));
    expect(calls).toHaveLength(3);
  });

  it('several decorators bind one method several times', async () => {
    const [first, second] = [uniqueName('first'), uniqueName('second')];
    const calls: string[] = [];
    @Injectable()
    class Handlers {
      @StreamHandler(first)
      @StreamHandler(second, { group: 'other' })
      handle(_body: unknown, { stream, group }: Message): void {
        calls.push(`${stream} → ${group}`);
      }
    }
    const { app } = await start({ providers: [Handlers] });
    await app.get(Broker).publish(first, {});
    await app.get(Broker).publish(second, {});
    await vi.waitFor(() => expect(calls.toSorted()).toEqual([`${first} → billing`, `${second} → other`].toSorted()));
  });

  it('G8 none at all is no error, and nothing is read', async () => {
    const { app, lines } = await start({}, {});
    const stream = uniqueName();
    await app.get(Broker).publish(stream, {});
    expect(lines.matching(/Mapped|^error|^warn/)).toEqual([]);
    expect(await app.get(Broker).client.exists(`rillkit:leases:${stream}:billing`)).toBe(0);
  });
});

describe('a wrong configuration', () => {
  const stream = uniqueName();
  @Injectable()
  class Billing {
    @StreamHandler(stream)
    bill(): void {}
  }
  @Injectable()
  class Other {
    @StreamHandler(new Stream(stream))
    handle(): void {}
  }

  it('G6 two handlers of one stream and group fail at start, and nothing is left open', async () => {
    const proxy = await Proxy.to(Number(new URL(url).port));
    const { app, lines } = await makeApp({
      imports: [RillkitModule.forRoot(quick(proxy.url, { group: 'g' }))],
      providers: [Billing, Other],
    });
    await expect(app.init()).rejects.toThrow(DuplicateHandlerError);
    await vi.waitFor(() => expect(proxy.connections).toBe(0));
    await expect(app.get(Broker).publish(stream, {})).rejects.toMatchObject({ stored: 'no' });
    expect(lines.matching(/Mapped/)).toEqual([]);
    await expect(app.close()).resolves.toBeUndefined();
    await proxy.close();
  });

  it('a handler without a group fails at start', async () => {
    const { app } = await makeApp({ imports: [RillkitModule.forRoot(quick(url))], providers: [Billing] });
    await expect(app.init()).rejects.toThrow(HandlerError);
    await app.close();
  });

  it('V5 wrong, unknown and planned options fail while the application is made', async () => {
    await expect(making({ blockMs: 0 })).rejects.toThrow(/^blockMs: must be/);
    await expect(making({ blokMs: 500 })).rejects.toThrow(/^blokMs: is not known here/);
    await expect(making({ autoStart: false })).rejects.toThrow(/^autoStart: is not there yet/);
    expect(() => RillkitModule.forRoot({ name: 'audit' })).toThrow(/^name: is not there yet/);
    expect(() => RillkitModule.forRootAsync({})).toThrow(OptionError);
  });

  it('G6 two forRoot are an error; one module object imported twice is one loop', async () => {
    const twice = makeApp({ imports: [RillkitModule.forRoot(quick(url)), RillkitModule.forRoot(quick(url))] });
    await expect(twice).rejects.toThrow(DuplicateModuleError);

    const orders = uniqueName();
    const seen: unknown[] = [];
    @Injectable()
    class Counting {
      @StreamHandler(orders)
      count(body: unknown): void {
        seen.push(body);
      }
    }
    const rillkit = RillkitModule.forRoot(quick(url, { group: 'g' }));
    @Module({ imports: [rillkit] })
    class FirstModule {}
    @Module({ providers: [Counting] })
    class SecondModule {}
    const started = await startApp({ imports: [FirstModule, SecondModule, rillkit] });
    open.push(started);
    await started.app.get(Broker).publish(orders, 1);
    await vi.waitFor(() => expect(seen).toEqual([1]));
    expect(await started.app.get(Broker).activeWorkers(orders, { group: 'g' })).toHaveLength(1);
    expect(started.lines.matching(/Mapped/)).toHaveLength(1);
  });
});

describe('forRootAsync', () => {
  @Injectable()
  class Options {
    createRillkitOptions(): RillkitModuleOptions {
      return quick(url, { group: 'async' });
    }
  }
  @Module({ providers: [Options], exports: [Options] })
  class OptionsModule {}

  it.each([
    ['useFactory', { imports: [OptionsModule], inject: [Options], useFactory: async (options: Options) => options.createRillkitOptions() }],
    ['useClass', { useClass: Options }],
    ['useExisting', { imports: [OptionsModule], useExisting: Options }],
  ])('takes its options from %s', async (_way, async) => {
    const stream = uniqueName();
    const groups: string[] = [];
    @Injectable()
    class Handlers {
      @StreamHandler(stream)
      handle(_body: unknown, { group }: Message): void {
        groups.push(group);
      }
    }
    const started = await startApp({ imports: [RillkitModule.forRootAsync(async)], providers: [Handlers] });
    open.push(started);
    await started.app.get(Broker).publish(stream, {});
    await vi.waitFor(() => expect(groups).toEqual(['async']));
  });

  it('checks what it was given', async () => {
    const made = makeApp({ imports: [RillkitModule.forRootAsync({ useFactory: () => ({ connection: url, blockMs: Number.NaN }) })] });
    await expect(made).rejects.toThrow(/^blockMs: must be/);
  });
});
