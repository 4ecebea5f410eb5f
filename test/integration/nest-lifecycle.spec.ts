import { setImmediate as turn } from 'node:timers/promises';
import {
  Injectable,
  Module,
  type BeforeApplicationShutdown,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { describe, expect, inject, it, vi } from 'vitest';
import { Consumers } from '../../lib/consumer/consumers.js';
import { Broker, RillkitModule, StreamHandler, type RillkitModuleOptions } from '../../lib/index.js';
import { makeApp, quick, startApp } from '../support/nest-app.js';
import { Proxy } from '../support/proxy.js';
import { uniqueName } from '../support/redis-server.js';

const url = inject('redisUrl');

class Gate {
  open: () => void = () => {};
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

/** An application of a database, handlers that need it, and somebody who publishes at each turn of the lifecycle. */
function shop(options: RillkitModuleOptions = {}) {
  const stream = uniqueName();
  const told: string[] = [];
  const running = new Gate();
  const release = new Gate();

  @Injectable()
  class Database implements OnModuleInit, OnModuleDestroy {
    async onModuleInit(): Promise<void> {
      await turn();
      told.push('database open');
    }

    onModuleDestroy(): void {
      told.push('database closed');
    }
  }
  @Module({ providers: [Database], exports: [Database] })
  class DatabaseModule {}

  @Injectable()
  class Billing implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
    constructor(
      readonly database: Database,
      readonly broker: Broker,
    ) {}

    async onModuleInit(): Promise<void> {
      await this.broker.publish(stream, 'while it starts');
      told.push('billing initialised');
    }

    async onApplicationBootstrap(): Promise<void> {
      // Long enough for a message to arrive, were anybody reading.
      for (let turns = 0; turns < 50; turns += 1) await this.broker.client.ping();
      told.push('billing bootstrapped');
    }

    onModuleDestroy(): void {
      told.push('billing destroyed');
    }

    @StreamHandler(stream, { group: 'g' })
    async bill(body: string): Promise<void> {
      told.push(`begun: ${body}`);
      if (body !== 'slow') return;
      running.open();
      await release.opened;
      await this.broker.publish(stream, 'from a handler that drains');
      told.push(`done: ${body}`);
    }
  }
  @Module({ imports: [DatabaseModule], providers: [Billing] })
  class BillingModule {}

  @Injectable()
  class Last implements OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown {
    constructor(readonly broker: Broker) {}

    onModuleDestroy(): void {
      release.open();
    }

    async beforeApplicationShutdown(): Promise<void> {
      await this.broker.publish(stream, 'before the shutdown');
    }

    async onApplicationShutdown(): Promise<void> {
      await this.broker.publish(stream, 'at the shutdown');
      told.push('published to the end');
    }
  }
  const rillkit = RillkitModule.forRoot(quick(url, options));
  return { stream, told, running, BillingModule, Last, rillkit };
}

describe('the order of things', () => {
  it('L4 S5 with RillkitModule last, handlers run when all has started, and have ended before anything stops; publishing works throughout', async () => {
    const { stream, told, running, BillingModule, Last, rillkit } = shop();
    const { app, lines } = await startApp({ imports: [BillingModule, rillkit], providers: [Last] });
    await app.get(Broker).publish(stream, 'slow');
    await running.opened;
    await app.close();
    expect(told).toEqual([
      'database open',
      'billing initialised',
      'billing bootstrapped',
      'begun: while it starts',
      'begun: slow',
      'done: slow',
      'billing destroyed',
      'database closed',
      'published to the end',
    ]);
    expect(lines.matching(/^(warn|error) (?!Stream)/)).toEqual([]);
  });

  it('L4 warns when RillkitModule is not listed last', async () => {
    const { BillingModule, rillkit } = shop();
    const { app, lines } = await startApp({ imports: [rillkit, BillingModule] });
    await app.close();
    expect(lines.matching(/^warn/)).toEqual([
      'warn The handlers of BillingModule may run before it has bootstrapped, and while it is destroyed: list RillkitModule last in the imports.',
    ]);
  });

  it('L4 does not mind what has no handlers behind it, nor handlers in the root that need no such hooks', async () => {
    const stream = uniqueName();
    @Injectable()
    class Plain {
      @StreamHandler(stream, { group: 'g' })
      handle(): void {}
    }
    @Module({})
    class NothingModule {}
    const { app, lines } = await startApp({ imports: [RillkitModule.forRoot(quick(url)), NothingModule], providers: [Plain] });
    await app.close();
    expect(lines.matching(/^warn/)).toEqual([]);
  });

  it('L4 warns of handlers beside RillkitModule whose module has hooks: no order helps them', async () => {
    const stream = uniqueName();
    @Injectable()
    class Hooked implements OnApplicationBootstrap {
      onApplicationBootstrap(): void {}

      @StreamHandler(stream, { group: 'g' })
      handle(): void {}
    }
    const { app, lines } = await startApp({ imports: [RillkitModule.forRoot(quick(url))], providers: [Hooked] });
    await app.close();
    expect(lines.matching(/^warn .* since it imports RillkitModule: move them to a module of their own/)).toHaveLength(1);
  });
});

describe('S6 closing', () => {
  const stream = uniqueName();
  @Injectable()
  class Handlers {
    @StreamHandler(stream, { group: 'g' })
    handle(): void {}
  }
  const metadata = (connection = url): ModuleMetadata => ({ imports: [RillkitModule.forRoot(quick(connection))], providers: [Handlers] });

  it('before start does nothing', async () => {
    const { app, lines } = await makeApp(metadata());
    await app.close();
    expect(lines.matching(/^(warn|error)/)).toEqual([]);
  });

  it('twice joins the first, and leaves no worker behind', async () => {
    const { app } = await startApp(metadata());
    const broker = app.get(Broker);
    await vi.waitFor(async () => expect(await broker.activeWorkers(stream, { group: 'g' })).toHaveLength(1));
    await Promise.all([app.close(), app.close()]);
    await app.close();
    const { app: other } = await startApp({ imports: [RillkitModule.forRoot(quick(url))] });
    await vi.waitFor(async () => expect(await other.get(Broker).activeWorkers(stream, { group: 'g' })).toEqual([]));
    await other.close();
  });

  it('during start ends what was begun, every connection too', async () => {
    const proxy = await Proxy.to(Number(new URL(url).port));
    const { app } = await makeApp(metadata(proxy.url));
    const started = app.init();
    await Promise.all([started, app.close()]);
    await vi.waitFor(() => expect(proxy.connections).toBe(0));
    await proxy.close();
  });

  it('S2 while Redis was never reached ends by its deadline', async () => {
    const proxy = await Proxy.to(Number(new URL(url).port));
    await proxy.close();
    const { app, lines } = await startApp(metadata(proxy.url));
    await vi.waitFor(() => expect(lines.matching(/^warn .*connection failed/)).toHaveLength(1));
    const since = performance.now();
    await app.close();
    expect(performance.now() - since).toBeLessThan(3_500);
  });
});

describe('a Redis that is away at the start', () => {
  it('G2 is told once, and its end too, in an application that only publishes', async () => {
    const proxy = await Proxy.to(Number(new URL(url).port));
    proxy.refuse();
    const { app, lines } = await startApp({ imports: [RillkitModule.forRoot(quick(proxy.url))] });
    await vi.waitFor(() => expect(lines.matching(/^warn connection failed and goes on/)).toHaveLength(1));
    proxy.accept();
    await vi.waitFor(() => expect(lines.matching(/^log connection works again, after \d+ failures? in a row/)).toHaveLength(1), 3_000);
    await app.close();
    await proxy.close();
  });
});

describe('a key of the wrong type where the stream should be', () => {
  it('G2 is told once, as an error, and its end too; consumption begins by itself', async () => {
    const stream = uniqueName();
    const seen: unknown[] = [];
    @Injectable()
    class Handlers {
      @StreamHandler(stream, { group: 'g' })
      handle(body: unknown): void {
        seen.push(body);
      }
    }
    const { app: helper } = await startApp({ imports: [RillkitModule.forRoot(quick(url))] });
    const { client } = helper.get(Broker);
    await vi.waitFor(() => client.set(stream, 'in the way'));
    const { app, lines } = await startApp({ imports: [RillkitModule.forRoot(quick(url))], providers: [Handlers] });
    await vi.waitFor(() => expect(lines.matching(/^error .* (read|audit) failed and goes on .*WRONGTYPE/)).not.toEqual([]), 5_000);
    // Several tries later each loop has still told it once.
    await vi.waitFor(() => expect(app.get(Consumers).status()[0]?.failures).toBeGreaterThan(3), 5_000);
    const told = lines.matching(/^(warn|error) .* failed and goes on/).map((line) => line.slice(0, line.indexOf('(')));
    expect(new Set(told).size).toBe(told.length);
    await client.del(stream);
    await app.get(Broker).publish(stream, 'at last');
    await vi.waitFor(() => expect(seen).toEqual(['at last']), 5_000);
    expect(lines.matching(/^log \{.* → g} (read|audit) works again, after \d+ failures in a row/)).toHaveLength(1);
    await Promise.all([app.close(), helper.close()]);
  });
});
