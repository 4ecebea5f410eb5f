import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The suite's Redis. Shared by all test files: use {@link uniqueName}, and a server of your own where you flush, stop or configure it. */
    redisUrl: string;
  }
}

const URL_KEY: keyof ProvidedContext = 'redisUrl';

/** Vitest's global set-up: one Redis for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startRedis();
  project.provide(URL_KEY, server.url);
  return () => server.stop();
}

/** A name no other test has: the key space of one test is the names it made. */
export const uniqueName = (prefix = 'orders'): string => `${prefix}-${randomBytes(6).toString('hex')}`;

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  readonly pid: number;
  /** Stops the server for good and removes its folder. Safe to call twice. */
  stop(): Promise<void>;
  /** Sends a signal; after one that ends the process, waits for its end. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same port and folder; waits until it answers. */
  restart(): Promise<void>;
}

export interface RedisServerOptions {
  /** More arguments for `redis-server`, such as `['--maxmemory', '20mb']`. */
  readonly args?: readonly string[];
}

/** Starts a Redis of its own on a port given by the kernel, in a folder of its own, without persistence unless `args` say so. */
export async function startRedis({ args = [] }: RedisServerOptions = {}): Promise<RedisServer> {
  const dir = await mkdtemp(join(tmpdir(), 'rillkit-redis-'));
  for (let tries = 1; ; tries += 1) {
    const server = new Server(await freePort(), dir, args);
    try {
      await server.restart();
      return server;
    } catch (error) {
      // Between our asking for the port and the server's taking it, somebody else may have: the next one, then.
      if (tries === 5) throw error;
    }
  }
}

class Server implements RedisServer {
  private child: ChildProcess | undefined;
  /** A test run that ends early leaves no server behind. */
  private readonly onExit = (): void => void this.child?.kill('SIGKILL');

  constructor(
    readonly port: number,
    readonly dir: string,
    private readonly args: readonly string[],
  ) {
    process.on('exit', this.onExit);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}/0`;
  }

  get pid(): number {
    return this.child?.pid ?? -1;
  }

  async restart(): Promise<void> {
    const child = spawn(
      'redis-server',
      ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--dir', this.dir, '--daemonize', 'no', ...this.args],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.child = child;
    await untilReady(child);
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (!child || hasEnded(child)) return;
    const end = once(child, 'exit');
    child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await end;
  }

  async stop(): Promise<void> {
    // A stopped process hears nothing but SIGKILL, and there is nothing to save.
    await this.kill('SIGKILL');
    process.off('exit', this.onExit);
    await rm(this.dir, { recursive: true, force: true });
  }
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    const read = (chunk: Buffer): void => {
      log += chunk.toString();
      if (log.includes('Ready to accept connections')) resolve();
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('error', (cause) => reject(new Error('redis-server could not be started: is it on PATH?', { cause })));
    child.once('exit', (code) => reject(new Error(`redis-server ended with code ${code} before it was ready:\n${log}`)));
  });
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => (typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port was given'))));
    });
  });
}
