import type { Cancel, Clock } from '../../lib/clock.js';
import type { Chance } from './chance.js';
import type { Scheduler } from './scheduler.js';

/** What a process runs on: it can be frozen and go on, or die. What would have reached it meanwhile waits for it, or is gone. */
export class Machine {
  state: 'running' | 'frozen' | 'dead' = 'running';
  readonly clock: Clock;
  private readonly backlog: (() => void)[] = [];

  constructor(
    private readonly scheduler: Scheduler,
    chance: Chance,
    /** How far its clock is off, milliseconds. */
    skewMs: number,
  ) {
    this.clock = {
      wallMs: () => 1_800_000_000_000 + scheduler.nowMs + skewMs,
      monotonicMs: () => scheduler.nowMs,
      after: (ms, run): Cancel => scheduler.in(ms, () => this.reach(run)),
      endOfTurn: (run) => void scheduler.in(0, () => this.reach(run)),
      jitter: (ms) => chance.between(0, ms),
    };
  }

  /** Something happens to the process: a timer, a reply. */
  reach(run: () => void): void {
    if (this.state === 'running') run();
    else if (this.state === 'frozen') this.backlog.push(run);
  }

  freeze(): void {
    if (this.state === 'running') this.state = 'frozen';
  }

  /** Goes on: what waited happens now, in its order, each in a turn of its own. */
  thaw(): void {
    if (this.state !== 'frozen') return;
    this.state = 'running';
    for (const run of this.backlog.splice(0)) this.scheduler.in(0, () => this.reach(run));
  }

  die(): void {
    this.state = 'dead';
    this.backlog.length = 0;
  }
}
