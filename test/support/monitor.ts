import { Redis } from 'ioredis';

/** Counts what clients send to a server, by command. What scripts call inside the server is not a client's and is left out. */
export class CommandCounter {
  private readonly counts = new Map<string, number>();

  private constructor(
    private readonly control: Redis,
    private readonly monitor: Redis,
  ) {
    monitor.on('monitor', (_time: string, args: readonly string[], source: string) => {
      if (source !== 'lua') this.add((args[0] ?? '').toLowerCase());
    });
  }

  static async on(url: string): Promise<CommandCounter> {
    const control = new Redis(url);
    return new CommandCounter(control, await control.monitor());
  }

  /** Starts again at nothing. */
  async reset(): Promise<void> {
    await this.caughtUp();
    this.counts.clear();
  }

  /** What was sent since the last reset, by command and in all. */
  async read(): Promise<{ readonly total: number; readonly byCommand: Readonly<Record<string, number>> }> {
    await this.caughtUp();
    const byCommand = Object.fromEntries([...this.counts].toSorted(([, a], [, b]) => b - a));
    return { total: [...this.counts.values()].reduce((sum, count) => sum + count, 0), byCommand };
  }

  /** Ends when a client sends `command` the next time. */
  next(command: string): Promise<void> {
    return this.shown((args) => args[0]?.toLowerCase() === command);
  }

  close(): void {
    this.monitor.disconnect();
    this.control.disconnect();
  }

  private add(command: string): void {
    if (command !== 'echo') this.counts.set(command, (this.counts.get(command) ?? 0) + 1);
  }

  /** MONITOR lags behind: it has caught up when it shows a mark that was sent just now. */
  private async caughtUp(): Promise<void> {
    const mark = `mark-${process.hrtime.bigint()}`;
    const shown = this.shown((args) => args[1] === mark);
    await this.control.echo(mark);
    await shown;
  }

  private shown(isIt: (args: readonly string[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (_time: string, args: readonly string[], source: string): void => {
        if (source === 'lua' || !isIt(args)) return;
        this.monitor.off('monitor', look);
        resolve();
      };
      this.monitor.on('monitor', look);
    });
  }
}
