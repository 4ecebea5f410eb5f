import { once } from 'node:events';
import { Injectable } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { register } from 'prom-client';
import request from 'supertest';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import { Broker, Message, RejectMessage, RillkitModule, StreamHandler, fixed } from '../../lib/index.js';
import { RillkitMetricsModule } from '../../lib/prometheus/index.js';
import { quick, startApp, type TestApp } from '../support/nest-app.js';
import { Proxy } from '../support/proxy.js';
import { uniqueName } from '../support/redis-server.js';

const url = inject('redisUrl');
const open: TestApp[] = [];

async function start(stream: string, connection = url, prefix?: string): Promise<TestApp> {
  @Injectable()
  class Billing {
    private failed = false;

    @StreamHandler(stream, { group: 'billing', backoff: fixed(1) })
    async bill(body: string, { signal }: Message): Promise<void> {
      // Until the application closes.
      if (body === 'hold') await once(signal, 'abort');
      if (body === 'bad') throw new RejectMessage('bad');
      if (body !== 'twice' || this.failed) return;
      this.failed = true;
      throw new Error('once');
    }
  }
  const prometheus = PrometheusModule.register({
    global: true,
    defaultMetrics: { enabled: false },
    ...(prefix === undefined ? {} : { customMetricPrefix: prefix }),
  });
  const started = await startApp({
    imports: [prometheus, RillkitMetricsModule, RillkitModule.forRoot(quick(connection))],
    providers: [Billing],
  });
  open.push(started);
  return started;
}

async function scrape({
  app,
}: TestApp): Promise<{ readonly status: number; readonly text: string; readonly value: (series: string) => number | null }> {
  const { status, text } = await request(app.getHttpServer()).get('/metrics');
  const values = new Map(text.split('\n').map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]));
  return {
    status,
    text,
    value: (series) => {
      const value = values.get(series);
      return value === undefined ? null : Number(value);
    },
  };
}

afterEach(async () => {
  await Promise.all(open.splice(0).map(({ app }) => app.close()));
});

describe('RillkitMetricsModule', () => {
  it('counts what happens, and asks for what is', async () => {
    const stream = uniqueName();
    const started = await start(stream);
    const broker = started.app.get(Broker);
    for (const body of ['good', 'bad', 'twice']) await broker.publish(stream, body);
    const place = `stream="${stream}",group="billing"`;
    await vi.waitFor(async () => {
      const { value } = await scrape(started);
      expect(value(`rillkit_handled_total{${place},outcome="acked"}`)).toBe(2);
      expect(value(`rillkit_pending{${place}}`)).toBe(0);
    }, 5_000);
    const { value, text, status } = await scrape(started);
    expect(status).toBe(200);
    expect(value(`rillkit_published_total{stream="${stream}"}`)).toBe(3);
    expect(value(`rillkit_handled_total{${place},outcome="retried"}`)).toBe(1);
    expect(value(`rillkit_handled_total{${place},outcome="dead"}`)).toBe(1);
    expect(value(`rillkit_handled_total{${place},outcome="released"}`)).toBe(0);
    expect(value(`rillkit_dead_lettered_total{${place},reason="rejected"}`)).toBe(1);
    expect(value(`rillkit_handler_duration_seconds_count{${place}}`)).toBe(4);
    expect(value(`rillkit_in_flight{${place}}`)).toBe(0);
    expect(value(`rillkit_undelivered{${place}}`)).toBe(0);
    expect(value(`rillkit_dead_letters{stream="${stream}"}`)).toBe(1);
    expect(value(`rillkit_active_workers{${place}}`)).toBe(1);
    for (const counter of ['recovered', 'fenced', 'lost']) expect(value(`rillkit_${counter}_total{${place}}`)).toBe(0);
    expect(text).not.toMatch(/worker="|id="/);
  });

  it('V3 leaves out what is not known, instead of calling it 0', async () => {
    const stream = uniqueName();
    const started = await start(stream);
    const broker = started.app.get(Broker);
    const place = `stream="${stream}",group="billing"`;
    await broker.publish(stream, 'hold');
    await vi.waitFor(async () => expect((await scrape(started)).value(`rillkit_in_flight{${place}}`)).toBe(1), 3_000);
    const ids = await Promise.all([1, 2, 3].map(async () => (await broker.publish(stream, 'good')).id));
    expect((await scrape(started)).value(`rillkit_undelivered{${place}}`)).toBe(3);
    // With a hole among what was not read yet the server cannot tell how much that is.
    await broker.client.xdel(stream, ids[1] ?? '');
    const { value } = await scrape(started);
    expect(value(`rillkit_undelivered{${place}}`)).toBeNull();
    expect(value(`rillkit_pending{${place}}`)).toBe(1);
  });

  it('V6 a scrape while Redis does not answer is bounded, whole, and without what is not known', async () => {
    const proxy = await Proxy.to(Number(new URL(url).port));
    const stream = uniqueName();
    const started = await start(stream, proxy.url);
    const place = `stream="${stream}",group="billing"`;
    await vi.waitFor(async () => expect((await scrape(started)).value(`rillkit_active_workers{${place}}`)).toBe(1), 5_000);
    proxy.stall();
    const since = performance.now();
    const [first, second] = await Promise.all([scrape(started), scrape(started)]);
    expect(performance.now() - since).toBeLessThan(3_000);
    for (const { status, value } of [first, second]) {
      expect(status).toBe(200);
      for (const gauge of ['undelivered', 'pending', 'active_workers']) expect(value(`rillkit_${gauge}{${place}}`)).toBeNull();
      expect(value(`rillkit_in_flight{${place}}`)).toBe(0);
    }
    expect((await scrape(started)).value('rillkit_scrape_failures_total')).toBeGreaterThan(0);
    proxy.resume();
    await started.app.close();
    await proxy.close();
  });

  it('asks Redis once a scrape for each stream and group', async () => {
    const stream = uniqueName();
    const started = await start(stream);
    await vi.waitFor(
      async () => expect((await scrape(started)).value(`rillkit_active_workers{stream="${stream}",group="billing"}`)).toBe(1),
      3_000,
    );
    const { client } = started.app.get(Broker);
    const commands = vi.spyOn(client, 'sendCommand');
    const countOf = (name: string): number => commands.mock.calls.filter(([command]) => command.name.toLowerCase() === name).length;
    await started.app.get(Broker).stats(stream, { group: 'billing' });
    const asked = countOf('xinfo');
    expect(asked).toBeGreaterThan(0);
    await scrape(started);
    expect(countOf('xinfo')).toBe(2 * asked);
  });

  it('two applications one after the other do not meet: the first one leaves nothing in the registry', async () => {
    const [one, other] = [uniqueName(), uniqueName()];
    const first = await start(one);
    await vi.waitFor(async () => expect((await scrape(first)).text).toContain(one), 3_000);
    await first.app.close();
    expect(register.getMetricsAsArray().filter(({ name }) => name.includes('rillkit'))).toEqual([]);

    const second = await start(other);
    await vi.waitFor(
      async () => expect((await scrape(second)).value(`rillkit_active_workers{stream="${other}",group="billing"}`)).toBe(1),
      3_000,
    );
    expect((await scrape(second)).text).not.toContain(one);
  });

  it('takes its prefix from a global PrometheusModule, and leaves nothing under that either', async () => {
    const started = await start(uniqueName(), url, 'shop');
    expect((await scrape(started)).text).toContain('# TYPE shop_rillkit_pending gauge');
    await started.app.close();
    expect(register.getMetricsAsArray().filter(({ name }) => name.includes('rillkit'))).toEqual([]);
  });
});
