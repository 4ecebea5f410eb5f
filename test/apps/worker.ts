// One worker process for tests that kill, freeze or end real processes: a Nest application with one handler, told by the message what to do.
// What happens is written to a list in Redis, so that it outlives the process.
import { setTimeout as wait } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { fixed, Message, RillkitEvents, RillkitModule, Stream, StreamHandler, type RillkitModuleOptions } from '@rillkit/nestjs';
import { RillkitMetricsModule } from '@rillkit/nestjs/prometheus';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { Redis } from 'ioredis';
import { register } from 'prom-client';

/** What a message tells its handler to do, in this order. */
export interface Task {
  /** Waits, milliseconds. */
  readonly waitMs?: number;
  /** Waits until this key exists. */
  readonly until?: string;
  /** Blocks the event loop, milliseconds. */
  readonly blockMs?: number;
  /** Ends the process. */
  readonly exit?: boolean;
  readonly fail?: boolean;
}

/** One line of the ledger. */
export interface Line {
  readonly what: 'start' | 'end' | 'aborted' | 'event';
  readonly pid: number;
  readonly worker: string;
  readonly id: string;
  readonly attempt: number;
  readonly number: number;
  readonly fence: string;
  readonly messageId: string;
  readonly atMs: number;
  /** For an event: its type. */
  readonly type?: string;
}

const {
  URL: url = '',
  STREAM: stream = '',
  GROUP: group = 'billing',
  WORKER,
  OPTIONS = '{}',
  MODULE = '{}',
  LEDGER: ledger = '',
} = process.env;
const Tasks = new Stream<Task>(stream);
// A connection of its own: what it writes must not wait behind the library's.
const redis = new Redis(url);

const write = (line: Partial<Line>): Promise<unknown> =>
  redis.rpush(ledger, JSON.stringify({ pid: process.pid, atMs: Date.now(), ...line }));

@Injectable()
class Worker {
  @StreamHandler(Tasks)
  async work(task: Task, message: Message<Task>): Promise<void> {
    const { id, attempt, number, worker, fence, messageId } = message;
    const line = { id, attempt, number, worker, fence, messageId };
    message.signal.addEventListener('abort', () => void write({ what: 'aborted', ...line }));
    await write({ what: 'start', ...line });
    if (task.waitMs !== undefined) await wait(task.waitMs);
    if (task.until !== undefined) while ((await redis.exists(task.until)) === 0) await wait(20);
    if (task.blockMs !== undefined) for (const endMs = Date.now() + task.blockMs; Date.now() < endMs;);
    if (task.exit) process.exit(1);
    if (task.fail) throw new Error('told to fail');
    await write({ what: 'end', ...line });
  }
}

const options: RillkitModuleOptions = {
  connection: url,
  group,
  worker: WORKER,
  ...JSON.parse(MODULE),
  defaults: { backoff: fixed(50), ...JSON.parse(OPTIONS) },
};

@Module({ providers: [Worker], imports: [PrometheusModule.register(), RillkitMetricsModule, RillkitModule.forRoot(options)] })
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
app.enableShutdownHooks();
const events = app.get(RillkitEvents);
events.on('consuming', ({ worker }) => console.log(`consuming as ${worker}`));
for (const type of ['fenced', 'leaseLost', 'leaseRegained', 'nameTaken', 'recovered', 'abandoned', 'handedBack', 'lost'] as const) {
  events.on(type, (event) => {
    console.log(`${type} ${JSON.stringify(event)}`);
    void write({ what: 'event', type, ...('id' in event ? { id: event.id } : {}) });
  });
}
// As Prometheus would scrape it, when the others have heard of the event too.
const scrape = async (): Promise<void> => console.log(await register.getSingleMetricAsString('rillkit_fenced_total'));
events.on('fenced', () => {
  setImmediate(() => void scrape());
});
process.on('unhandledRejection', (error) => console.log(`unhandledRejection ${String(error)}`));
process.on('exit', () => redis.disconnect());
console.log('started');
