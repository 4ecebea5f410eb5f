import { sleep, type Clock } from '../clock.js';
import type { Heartbeat } from '../liveness/heartbeat.js';
import { loopBackoffMs } from '../loop.js';
import type { RillkitEvents } from '../rillkit.events.js';
import type { ResolvedOptions } from '../rillkit.options.js';
import { MAX_BATCH, type SignOff, type StreamStore } from '../store/stream-store.js';
import type { GroupConsumption } from './consumers.js';
import type { Subscription } from './subscription.js';

/** How long the last settlements may take behind the grace, and the sign-off behind them, milliseconds. */
const SIGN_OFF_MS = 1_000;

export interface ShutdownDeps {
  readonly store: Pick<StreamStore, 'heartbeat' | 'signOff' | 'nudge'>;
  readonly clock: Clock;
  readonly events: RillkitEvents;
  readonly limits: ResolvedOptions['shutdown'];
  readonly groups: readonly GroupConsumption[];
  readonly heartbeat: Heartbeat;
  /** This process's incarnation. */
  readonly tag: number;
}

/**
 * Ends consumption so that nothing waits for a lease to run out: stop reading, hand back what was not started, wait for the handlers, abort
 * them, hand back what still runs, settle, stop beating, sign off. Each step has a bound, so that it ends in time without Redis too.
 */
export class Shutdown {
  private readonly subscriptions: readonly Subscription[];
  private readonly late = new AbortController();

  constructor(private readonly deps: ShutdownDeps) {
    this.subscriptions = deps.groups.flatMap((group) => group.subscriptions);
  }

  async run(): Promise<void> {
    const { clock, limits, groups, heartbeat } = this.deps;
    const cancels = [clock.after(limits.graceMs + limits.abortMs + SIGN_OFF_MS, () => this.late.abort())];
    try {
      for (const { silence } of groups) silence();
      for (const subscription of this.subscriptions) subscription.drain();
      const reading = groups.map(({ reader, subscriptions }) => ({ subscriptions, ended: this.inTime(reader.stop(), 'unsure' as const) }));
      await this.handlersEnd(limits.graceMs);
      for (const subscription of this.subscriptions) subscription.interrupt();
      await this.handlersEnd(limits.abortMs);
      for (const subscription of this.subscriptions) this.abandon(subscription);
      const left = await Promise.all(reading.map(async ({ subscriptions, ended }) => ({ subscriptions, sure: (await ended) === 'ended' })));
      await Promise.all(this.subscriptions.map(({ settlements }) => settlements.settler.idle.until(this.late.signal)));
      // Nothing of ours is pending any more, so the rest is worth no longer wait: what fails is done by others when the lease is over.
      cancels.push(clock.after(SIGN_OFF_MS, () => this.late.abort()));
      await this.inTime(heartbeat.stop(), undefined);
      await this.signOff(left);
    } finally {
      for (const cancel of cancels) cancel();
      this.late.abort();
      for (const subscription of this.subscriptions) subscription.stop();
    }
  }

  private async handlersEnd(withinMs: number): Promise<void> {
    const over = new AbortController();
    const cancel = this.deps.clock.after(withinMs, () => over.abort());
    await Promise.all(this.subscriptions.map((subscription) => subscription.dispatcher.idle.until(over.signal)));
    cancel();
  }

  private abandon(subscription: Subscription): void {
    const { stream, group } = subscription;
    const ids = subscription.abandon();
    if (ids.length > 0) this.deps.events.emit({ type: 'abandoned', stream, group, ids });
  }

  private async signOff(left: readonly { readonly subscriptions: readonly Subscription[]; readonly sure: boolean }[]): Promise<void> {
    const { store, heartbeat } = this.deps;
    // Who never had a lease has nothing there, and who lost the name to another process must not touch it.
    const own = (one: Subscription): boolean => one.lease.state !== 'none' && !heartbeat.isNameTaken(one);
    const leaving = this.subscriptions.filter(own);
    if (leaving.length === 0) return;
    await Promise.all([
      this.insist(() => store.heartbeat(leaving, 0)),
      ...left.flatMap(({ subscriptions, sure }) => subscriptions.filter(own).map((one) => this.signOffAt(one, sure && one.sure))),
    ]);
  }

  private async signOffAt(subscription: Subscription, sure: boolean): Promise<void> {
    const { store, events, tag } = this.deps;
    const { stream, group, worker, rules } = subscription;
    let parked = 0;
    await this.insist(async () => {
      for (let is: SignOff['is'] = 'more'; is === 'more';) {
        const left = await store.signOff(subscription, worker, { count: MAX_BATCH, maxHandBacks: rules.maxHandBacks, sure, tag });
        is = left.is;
        parked += left.parked;
        if (left.lost.length > 0) events.emit({ type: 'lost', stream, group, count: left.lost.length });
      }
      if (parked > 0) await store.nudge(subscription);
    });
    if (parked > 0) events.emit({ type: 'handedBack', stream, group, count: parked, why: 'shutdown' });
  }

  /** Again until it is done or time is up. */
  private async insist(call: () => Promise<void>): Promise<void> {
    const { clock, events } = this.deps;
    const backoffMs = loopBackoffMs(clock, 20, 200);
    for (let failures = 1; !this.late.signal.aborted; failures += 1) {
      try {
        await this.inTime(call(), undefined);
        return;
      } catch (error) {
        events.emit({ type: 'loopFailed', loop: 'signOff', error, failures });
        await sleep(clock, backoffMs(failures), this.late.signal);
      }
    }
  }

  /** The promise's end, or `otherwise` when time is up. */
  private inTime<Value>(promise: Promise<Value>, otherwise: Value): Promise<Value> {
    const { signal } = this.late;
    return new Promise((resolve, reject) => {
      const end = (): void => resolve(otherwise);
      if (signal.aborted) end();
      signal.addEventListener('abort', end, { once: true });
      promise.finally(() => signal.removeEventListener('abort', end)).then(resolve, reject);
    });
  }
}
