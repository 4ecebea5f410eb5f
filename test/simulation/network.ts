import { StoreError } from '../../lib/rillkit.errors.js';
import type { Chance } from './chance.js';
import type { Machine } from './machine.js';
import type { Scheduler } from './scheduler.js';

/** How bad the network is. */
export interface Weather {
  /** Milliseconds from one side to the other. */
  latency(chance: Chance): number;
  /** The probability that a connection is cut while a call is under way. */
  readonly cut: number;
  /** Whether the server cannot be reached at all. */
  readonly outage: boolean;
}

interface UnderWay {
  readonly fail: () => void;
  arrived: boolean;
}

const closed = (applied: 'no' | 'unknown'): StoreError => new StoreError('Connection is closed.', 'unavailable', applied);

/**
 * One connection of a process: calls arrive in their order, so do the replies, each after a time of its own. When it is cut, every call under
 * way fails; those that have not arrived are lost, or still arrive until the process has a new connection and has killed this one.
 */
export class Connection {
  private epoch = 0;
  private up = true;
  private lastArrivalMs = 0;
  private lastReplyMs = 0;
  private readonly underWay = new Set<UnderWay>();
  private onUp: (() => void)[] = [];

  constructor(
    private readonly world: { readonly scheduler: Scheduler; readonly chance: Chance; readonly weather: () => Weather },
    private readonly machine: Machine,
    /** Called at the server when it is sure that nothing of the old connection is left. */
    private readonly onGone: () => void = () => {},
    private readonly onCut: () => void = () => {},
  ) {}

  get isUp(): boolean {
    return this.up && !this.world.weather().outage;
  }

  /** Sends a call; `work` is done at the server when it arrives. */
  call<T>(work: () => Promise<T>): Promise<T> {
    const { scheduler, chance, weather } = this.world;
    if (!this.isUp) return Promise.reject(closed('no'));
    const { epoch } = this;
    return new Promise((resolve, reject) => {
      const underWay: UnderWay = { arrived: false, fail: () => this.machine.reach(() => reject(closed('unknown'))) };
      this.underWay.add(underWay);
      this.lastArrivalMs = Math.max(this.lastArrivalMs, scheduler.nowMs + weather().latency(chance));
      // Some are lost before they arrive, some replies are: a cut in between tells nobody which.
      if (chance.is(weather().cut)) scheduler.in(chance.between(0, 2 * (this.lastArrivalMs - scheduler.nowMs)), () => this.cut(epoch));
      scheduler.in(this.lastArrivalMs - scheduler.nowMs, () => {
        const late = this.epoch !== epoch;
        // Of a connection that was cut: carried out all the same, as long as nobody has killed it.
        if (late && (this.up || chance.is(0.5))) return;
        underWay.arrived = true;
        const reply = (tell: () => void): void => {
          if (this.epoch !== epoch) return;
          this.lastReplyMs = Math.max(this.lastReplyMs, scheduler.nowMs + weather().latency(chance));
          scheduler.in(this.lastReplyMs - scheduler.nowMs, () => {
            if (this.epoch !== epoch) return;
            this.underWay.delete(underWay);
            this.machine.reach(tell);
          });
        };
        work().then(
          (value) => reply(() => resolve(value)),
          (error: unknown) => reply(() => reject(error)),
        );
      });
    });
  }

  /** Cuts the connection; the process makes a new one by itself. */
  cut(epoch = this.epoch): void {
    if (epoch !== this.epoch) return;
    this.epoch += 1;
    this.up = false;
    this.onCut();
    for (const { fail } of this.underWay) fail();
    this.underWay.clear();
    if (this.machine.state !== 'dead') this.reconnect();
    else this.world.scheduler.in(this.world.chance.between(0, 25_000), this.onGone);
  }

  /** Ends when it is up, or `waitMs` is over. */
  ready(waitMs: number): Promise<boolean> {
    if (this.isUp || waitMs <= 0) return Promise.resolve(this.isUp);
    return new Promise((resolve) => {
      const end = (): void => this.machine.reach(() => resolve(this.isUp));
      this.onUp.push(end);
      this.world.scheduler.in(waitMs, end);
    });
  }

  private reconnect(): void {
    const { scheduler, chance, weather } = this.world;
    scheduler.in(chance.between(20, 600), () =>
      this.machine.reach(() => {
        if (weather().outage) return this.reconnect();
        // The predecessor is killed first: none of its calls is carried out any more.
        this.onGone();
        this.up = true;
        this.lastArrivalMs = this.lastReplyMs = scheduler.nowMs;
        for (const end of this.onUp.splice(0)) end();
      }),
    );
  }
}
