import { Redis } from 'ioredis';
import { expectAllEnded, expectEndedOnce, type Expected } from './oracle.js';
import { Proxy } from './proxy.js';
import { startRedis, uniqueName, type RedisServer } from './redis-server.js';
import { Worker, type WorkerOptions } from './workers.js';

type SceneWorker = Omit<WorkerOptions, 'url' | 'stream'> & Partial<Pick<WorkerOptions, 'url' | 'stream'>>;

/** A Redis of one test's own, with a proxy before it that workers go through, one stream, and what was published to it past the proxy. */
export class Scene {
  readonly stream = uniqueName();
  readonly published: string[] = [];
  readonly workers: Worker[] = [];
  private readonly closing: (() => unknown)[] = [];

  private constructor(
    readonly server: RedisServer,
    readonly proxy: Proxy,
    /** Past the proxy. */
    readonly redis: Redis,
  ) {}

  static async open(args: readonly string[] = []): Promise<Scene> {
    const server = await startRedis({ args });
    const proxy = await Proxy.to(server.port);
    const redis = new Redis(server.url, { protocol: 2, retryStrategy: () => 50, maxRetriesPerRequest: null });
    redis.on('error', () => {});
    return new Scene(server, proxy, redis);
  }

  worker(options: SceneWorker): Worker {
    const worker = new Worker({ url: this.proxy.url, stream: this.stream, ...options });
    this.workers.push(worker);
    return worker.start();
  }

  /** Publishes `count` bodies `{ n }`, as any program can. */
  async publish(count = 1, stream = this.stream): Promise<string[]> {
    const from = this.published.length;
    const ids = await Promise.all(
      Array.from({ length: count }, (_, n) => this.redis.xadd(stream, '*', 'body', JSON.stringify({ n: from + n }))),
    );
    const known = ids.flatMap((id) => id ?? []);
    if (stream === this.stream) this.published.push(...known);
    return known;
  }

  /** Waits until all that was published has been acked or given up by one of the workers. */
  async untilEnded(ids: readonly string[] = this.published, withinMs = 15_000): Promise<void> {
    const endMs = Date.now() + withinMs;
    const left = (): string[] => {
      const ended = new Set(this.workers.flatMap((worker) => [...endsOf(worker)]));
      return ids.filter((id) => !ended.has(id));
    };
    while (left().length > 0 && Date.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 10));
    if (left().length > 0) {
      const failures = this.workers.map((worker) => String(worker.of('loopFailed').at(-1)?.error));
      throw new Error(
        `${left().length} of ${ids.length} have not ended in ${withinMs} ms: ${left().slice(0, 5).join(' ')}; ${failures.join('; ')}`,
      );
    }
  }

  /** Stops all workers and holds what they leave against the oracle. `twice`: the fault of this test may make messages run again. */
  async end({
    twice = false,
    published = this.published,
    ...expected
  }: Partial<Expected> & { readonly twice?: boolean } = {}): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
    expectEndedOnce(this.workers, published, { twice, stream: this.stream });
    await expectAllEnded(this.server.url, { stream: this.stream, published, ...expected });
  }

  onClose(close: () => unknown): void {
    this.closing.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.closing.splice(0).toReversed()) await close();
    await Promise.all(this.workers.map((worker) => worker.stop()));
    this.redis.disconnect();
    await this.proxy.close();
    await this.server.stop();
  }
}

const endsOf = (worker: Worker): Set<string> =>
  new Set([
    ...worker.of('handled').flatMap(({ id, outcome }) => (outcome === 'acked' ? [id] : [])),
    ...worker.of('deadLettered').map(({ id }) => id),
  ]);
