import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { built } from './built.js';

export interface ProcessOptions {
  /** What it prints when it is ready. */
  readonly ready: RegExp;
  /** Added to the environment, `undefined` takes a variable out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

interface Waiter {
  readonly pattern: RegExp;
  readonly found: (match: RegExpMatchArray) => void;
  readonly failed: (error: Error) => void;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** A real child process running built code, with its output by the line. */
export class AppProcess {
  /** What it has printed, on both channels. */
  readonly lines: string[] = [];
  /** What its end says; the signal where one ended it. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  private readonly waiters = new Set<Waiter>();
  private over = false;

  constructor(private readonly child: Child) {
    for (const channel of [child.stdout, child.stderr]) createInterface({ input: channel }).on('line', (line) => this.heard(line));
    this.ended = once(child, 'close').then(([code, signal]) => {
      this.over = true;
      for (const waiter of this.waiters)
        waiter.failed(new Error(`The process ended (${signal ?? code}) before it printed ${waiter.pattern}:\n${this.output}`));
      return { code, signal };
    });
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  get output(): string {
    return this.lines.join('\n');
  }

  /** The first line, printed or to come, that matches. */
  async line(pattern: RegExp, withinMs = 20_000): Promise<RegExpMatchArray> {
    for (const line of this.lines) {
      const match = line.match(pattern);
      if (match) return match;
    }
    if (this.over) throw new Error(`The process ended without printing ${pattern}:\n${this.output}`);
    return new Promise((resolve, reject) => {
      const end = (act: () => void): void => {
        clearTimeout(timer);
        this.waiters.delete(waiter);
        act();
      };
      const waiter: Waiter = { pattern, found: (match) => end(() => resolve(match)), failed: (error) => end(() => reject(error)) };
      const timer = setTimeout(() => waiter.failed(new Error(`${pattern} was not printed in ${withinMs} ms:\n${this.output}`)), withinMs);
      this.waiters.add(waiter);
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it for certain. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  private heard(line: string): void {
    this.lines.push(line);
    for (const waiter of this.waiters) {
      const match = line.match(waiter.pattern);
      if (match) waiter.found(match);
    }
  }
}

/** A sample shop that runs in a process of its own. */
export interface Shop {
  readonly process: AppProcess;
  /** Where it listens. */
  readonly url: string;
}

/** The child processes of one test file; `afterEach(() => processes.killAll())` leaves none behind, whatever the test did. */
export class Processes {
  private readonly started = new Set<AppProcess>();
  private readonly onExit = (): void => this.started.forEach((child) => child.signal('SIGKILL'));

  constructor() {
    process.on('exit', this.onExit);
  }

  /** Runs `dist/<file>`, for instance `test/apps/worker.js`, and waits until it is ready. */
  async start(file: string, { ready, env = {} }: ProcessOptions): Promise<AppProcess> {
    const child = spawn(process.execPath, [await built(file)], {
      env: { ...process.env, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const app = new AppProcess(child);
    this.started.add(app);
    await app.line(ready);
    return app;
  }

  /** Starts the sample on a port of the system's choice. */
  async shop(env: ProcessOptions['env'] = {}): Promise<Shop> {
    const app = await this.start('sample-app/main.js', { ready: OPEN, env: { PORT: '0', ...env } });
    const [, url = ''] = await app.line(OPEN);
    return { process: app, url };
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.started].map((child) => child.kill()));
    this.started.clear();
  }
}

const OPEN = /The shop is open at ([^\s,]+)/;
