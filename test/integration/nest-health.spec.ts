import { Controller, Get, Injectable } from '@nestjs/common';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { Broker, OptionError, RejectMessage, RillkitModule, StreamHandler } from '../../lib/index.js';
import { RillkitHealthIndicator, RillkitHealthModule } from '../../lib/terminus/index.js';
import { quick, startApp, type TestApp } from '../support/nest-app.js';
import { Proxy } from '../support/proxy.js';
import { uniqueName } from '../support/redis-server.js';

let proxy: Proxy;
let started: TestApp;
let stream: string;

beforeEach(async () => {
  stream = uniqueName();
  const handled = stream;

  @Injectable()
  class Billing {
    @StreamHandler(handled, { group: 'billing' })
    bill(body: string): void {
      if (body === 'bad') throw new RejectMessage('bad');
    }
  }

  @Controller('health')
  class HealthController {
    constructor(
      private readonly health: HealthCheckService,
      private readonly rillkit: RillkitHealthIndicator,
    ) {}

    @Get('ready')
    ready() {
      return this.health.check([() => this.rillkit.isReady('rillkit')]);
    }

    @Get('work')
    work() {
      return this.health.check([
        () => this.rillkit.activeWorkers('billing', { stream: handled, group: 'billing' }),
        () => this.rillkit.deadLetters('dlq', { stream: handled, max: 0 }),
      ]);
    }
  }

  proxy = await Proxy.to(Number(new URL(inject('redisUrl')).port));
  started = await startApp({
    imports: [TerminusModule.forRoot({ logger: false }), RillkitHealthModule, RillkitModule.forRoot(quick(proxy.url))],
    controllers: [HealthController],
    providers: [Billing],
  });
});

afterEach(async () => {
  await started.app.close();
  await proxy.close();
});

const get = (path: string) => request(started.app.getHttpServer()).get(path);
const statusOf = async (path: string): Promise<number> => (await get(path)).status;

describe('RillkitHealthIndicator', () => {
  it('answers 200 once the loops turn, 503 while Redis is away, and 200 again, without any code of the application', async () => {
    await vi.waitFor(async () => expect(await statusOf('/health/ready')).toBe(200), 3_000);
    proxy.refuse();
    const { status, body } = await get('/health/ready');
    expect(status).toBe(503);
    expect(body).toMatchObject({ error: { rillkit: { status: 'down', message: expect.any(String) } } });
    proxy.accept();
    await vi.waitFor(async () => expect(await statusOf('/health/ready')).toBe(200), 10_000);
  });

  it('V2 answers a hundred probes at once within their limit while Redis does not answer, and never with 500', async () => {
    await vi.waitFor(async () => expect(await statusOf('/health/ready')).toBe(200), 3_000);
    proxy.stall();
    const rillkit = started.app.get(RillkitHealthIndicator);
    const since = performance.now();
    const probes = [
      () => rillkit.isReady('key', { timeoutMs: 200 }),
      () => rillkit.activeWorkers('key', { stream, group: 'billing', timeoutMs: 200 }),
      () => rillkit.deadLetters('key', { stream, timeoutMs: 200 }),
    ];
    const answers = await Promise.all(Array.from({ length: 34 }, () => probes).flatMap((all) => all.map((probe) => probe())));
    expect(performance.now() - since).toBeLessThan(1_000);
    expect(new Set(answers.map((answer) => answer.key.status))).toEqual(new Set(['down']));
    expect(await statusOf('/health/work')).toBe(503);
    proxy.resume();
  });

  it('counts live workers against min, and dead letters against max', async () => {
    const rillkit = started.app.get(RillkitHealthIndicator);
    await vi.waitFor(async () => expect(await statusOf('/health/work')).toBe(200), 3_000);
    expect(await rillkit.activeWorkers('k', { stream, group: 'billing', min: 2 })).toEqual({ k: { status: 'down', workers: 1, min: 2 } });
    expect(await rillkit.activeWorkers('k', { stream, group: 'nobody', min: 0 })).toEqual({ k: { status: 'up', workers: 0, min: 0 } });
    await started.app.get(Broker).publish(stream, 'bad');
    await vi.waitFor(async () => expect(await statusOf('/health/work')).toBe(503), 3_000);
    expect(await rillkit.deadLetters('k', { stream, max: 0 })).toEqual({ k: { status: 'down', deadLetters: 1, max: 0 } });
    expect(await rillkit.deadLetters('k', { stream })).toEqual({ k: { status: 'up', deadLetters: 1 } });
  });

  it('refuses wrong options at once, by name', () => {
    const rillkit = started.app.get(RillkitHealthIndicator);
    expect(() => rillkit.isReady('k', { timeoutMs: 0 })).toThrow(OptionError);
    expect(() => rillkit.activeWorkers('k', { stream })).toThrow(/^group: must be given/);
    expect(() => rillkit.activeWorkers('k', { stream, group: 'billing', min: -1 })).toThrow(/^activeWorkers\.min: /);
    expect(() => rillkit.deadLetters('k', { stream, max: 0.5 })).toThrow(/^deadLetters\.max: /);
  });
});
