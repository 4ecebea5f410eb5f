import { Redis } from 'ioredis';
import type { Line, Task } from '../apps/worker.js';
import type { AppProcess, Processes } from './processes.js';
import { uniqueName } from './redis-server.js';

export interface WorkerProcessOptions {
  readonly group?: string;
  readonly worker?: string;
  /** Handler options, as JSON can carry them. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly module?: Readonly<Record<string, unknown>>;
  /** Another way to the same Redis, such as a proxy. */
  readonly url?: string;
}

/** A stream with worker processes on it and the ledger of what they did. */
export class Floor {
  readonly stream = uniqueName();
  readonly ledger = `ledger:${this.stream}`;
  readonly redis: Redis;

  constructor(
    private readonly url: string,
    private readonly processes: Processes,
  ) {
    this.redis = new Redis(url);
  }

  /** Starts a worker process and waits until it consumes. */
  async worker({ group = 'billing', worker, options = {}, module = {}, url = this.url }: WorkerProcessOptions = {}): Promise<AppProcess> {
    return this.processes.start('test/apps/worker.js', {
      ready: /^consuming as/,
      env: {
        URL: url,
        STREAM: this.stream,
        GROUP: group,
        WORKER: worker,
        LEDGER: this.ledger,
        OPTIONS: JSON.stringify(options),
        MODULE: JSON.stringify(module),
      },
    });
  }

  /** Publishes by hand, as any program can. */
  async publish(...tasks: readonly Task[]): Promise<string[]> {
    const ids = await Promise.all(tasks.map((task) => this.redis.xadd(this.stream, '*', 'body', JSON.stringify(task))));
    return ids.flatMap((id) => id ?? []);
  }

  async lines(what?: Line['what']): Promise<Line[]> {
    const lines = (await this.redis.lrange(this.ledger, 0, -1)).map((text): Line => JSON.parse(text));
    return what ? lines.filter((line) => line.what === what) : lines;
  }

  /** Waits until the ledger satisfies `enough`; looks at Redis again and again. */
  async until(enough: (lines: readonly Line[]) => boolean, what: string, withinMs = 30_000): Promise<readonly Line[]> {
    const endMs = Date.now() + withinMs;
    for (;;) {
      const lines = await this.lines();
      if (enough(lines)) return lines;
      if (Date.now() > endMs)
        throw new Error(`waited ${withinMs} ms for: ${what}\n${lines.map((line) => JSON.stringify(line)).join('\n')}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Waits until nothing is pending in the group. */
  async settled(group = 'billing', withinMs = 30_000): Promise<void> {
    const endMs = Date.now() + withinMs;
    while ((await this.pending(group)).length > 0) {
      if (Date.now() > endMs) throw new Error(`still pending: ${JSON.stringify(await this.pending(group))}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async pending(group = 'billing'): Promise<unknown[]> {
    return this.redis.xpending(this.stream, group, '-', '+', 10_000);
  }

  async deadLetters(): Promise<Map<string, string>[]> {
    const entries = await this.redis.xrange(`${this.stream}-dlq`, '-', '+');
    return entries.map(([, fields]) => new Map(fields.flatMap((value, at) => (at % 2 === 0 ? [[value, fields[at + 1] ?? '']] : []))));
  }

  async close(): Promise<void> {
    await this.redis.quit();
  }
}
