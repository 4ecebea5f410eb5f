import type { Clock } from '../clock.js';
import { Loop } from '../loop.js';
import { isStoreFault } from '../rillkit.errors.js';
import type { LoopName, RillkitEvents } from '../rillkit.events.js';
import type { BlockingReader, StreamStore } from '../store/stream-store.js';
import type { Plan } from './dispatcher.js';
import type { Subscription } from './subscription.js';

export interface GroupReaderOptions {
  readonly store: StreamStore;
  readonly clock: Clock;
  readonly events: RillkitEvents;
  readonly group: string;
  readonly worker: string;
  readonly blockMs: number;
  /** At most one audit of a subscription in this time, unless something failed; milliseconds. */
  readonly beatMs: number;
  readonly subscriptions: readonly Subscription[];
}

interface Planned {
  readonly subscription: Subscription;
  readonly plan: Plan;
}

/** The blocking read under way: for whom, and its end, with all that it brought. */
interface Blocked {
  readonly on: ReadonlySet<Subscription>;
  readonly over: Promise<void>;
}

/**
 * Gets messages for all subscriptions of one group, in one loop: takes what is due and reads what is new where there may be some, at once and
 * without blocking; else waits in one blocking read on all streams that have room. Reads, takes and audits of a subscription follow each
 * other here and nowhere else, so that an audit never meets a reply that is still under way.
 */
export class GroupReader {
  private readonly loop: Loop;
  private readonly reader: BlockingReader;
  private blocked: Blocked | null = null;
  private breakingOff = false;
  private waking = false;
  private resume: (() => void) | null = null;
  private changed = false;

  constructor(private readonly options: GroupReaderOptions) {
    const { store, clock, events, group } = options;
    this.reader = store.openReader(group);
    this.loop = new Loop({ clock, onError: (error, failures) => events.emit({ type: 'loopFailed', loop: 'read', error, failures }) });
  }

  start(): void {
    this.loop.start((signal) => this.step(signal));
  }

  /** Stops reading. `ended`: the server will not serve a read of ours any more; `unsure`: it may. */
  async stop(): Promise<'ended' | 'unsure'> {
    const stopped = this.loop.stop();
    this.resume?.();
    const [ended] = await Promise.all([this.reader.interrupt(), stopped]);
    await this.reader.close();
    return ended;
  }

  /** Something has changed: looked at once, when this turn is over, so that reads stay large and meet the settlements on their way. */
  wake(): void {
    this.changed = true;
    if (this.waking || (!this.resume && !this.blocked)) return;
    this.waking = true;
    this.options.clock.endOfTurn(() => {
      this.waking = false;
      this.resume?.();
      void this.breakOff();
    });
  }

  private async step(signal: AbortSignal): Promise<void> {
    this.changed = false;
    const { beatMs, subscriptions } = this.options;
    await Promise.all(subscriptions.filter((one) => one.auditIsDue(beatMs)).map((one) => this.guard(one, 'audit', () => one.audit())));
    const planned = subscriptions.map((subscription) => ({ subscription, plan: subscription.plan }));
    await Promise.all(planned.map(({ subscription, plan }) => this.prepare(subscription, plan)));
    if (signal.aborted) return;

    const atOnce = planned.filter(({ subscription, plan }) => plan.take > 0 || (plan.read > 0 && subscription.dispatcher.more));
    if (atOnce.length > 0) {
      // Beside a busy stream there may never be time to wait for the others, so they are asked too.
      for (const { subscription, plan } of planned) if (plan.read > 0 && subscription.isQuiet) subscription.readAlone();
      const asked = planned.filter(({ subscription, plan }) => plan.take > 0 || (plan.read > 0 && subscription.dispatcher.more));
      await Promise.all(asked.map((one) => this.askAtOnce(one)));
      return;
    }
    const ready = planned.filter(({ subscription, plan }) => plan.read > 0 && subscription.plan.read > 0);
    if (ready.length > 0) await this.block(ready);
    else await this.change(signal);
  }

  private async prepare(subscription: Subscription, plan: Plan): Promise<void> {
    if (plan.take > 0 || plan.read > 0) await this.guard(subscription, 'read', () => subscription.ensureGroup());
  }

  private async askAtOnce({ subscription, plan }: Planned): Promise<void> {
    const { store, worker } = this.options;
    if (subscription.plan.take === 0 && subscription.plan.read === 0) return;
    const calls: Promise<void>[] = [];
    // Told when both have ended: the slots kept for a take are not given away while it is under way.
    const failures: { readonly loop: LoopName; readonly error: unknown }[] = [];
    const ask = async (loop: LoopName, call: () => Promise<void>): Promise<void> => {
      await call().catch((error: unknown) => failures.push({ loop, error }));
    };
    if (plan.take > 0) {
      subscription.due.asked();
      calls.push(ask('take', async () => subscription.taken(await store.take(subscription, worker, plan.take))));
    }
    if (plan.read > 0 && subscription.dispatcher.more) {
      calls.push(ask('read', async () => subscription.arrived(await store.read(subscription, worker, plan.read), plan.read)));
    }
    await Promise.all(calls);
    for (const { loop, error } of failures) subscription.failed(loop, error);
  }

  private async block(ready: readonly Planned[]): Promise<void> {
    const on = new Set(ready.map(({ subscription }) => subscription));
    // What changed while this step was on its way would go unseen until the read ends.
    if (this.changed && this.isWanted(on)) return;
    const over = this.wait(ready).finally(() => {
      this.blocked = null;
    });
    this.blocked = { on, over };
    await over;
  }

  private async wait(ready: readonly Planned[]): Promise<void> {
    const { group, worker, blockMs } = this.options;
    const count = Math.min(...ready.map(({ plan }) => plan.read));
    const streams = ready.map(({ subscription }) => subscription.stream);
    try {
      const replies = await this.reader.read({ group, worker, streams, count, blockMs });
      const byStream = new Map(replies.map(({ stream, messages }) => [stream, messages]));
      for (const { subscription } of ready) subscription.arrived(byStream.get(subscription.stream) ?? [], count);
    } catch (error) {
      if (isStoreFault(error, 'interrupted')) return;
      // One wrong stream fails the read of all: each is asked alone then, which tells which it was.
      if (ready.length > 1 && !isStoreFault(error, 'unavailable')) for (const { subscription } of ready) subscription.readAlone();
      else for (const { subscription } of ready) subscription.failed('read', error);
    }
  }

  /** Whether something is to be asked for that the blocking read under way does not bring. */
  private isWanted(on: ReadonlySet<Subscription>): boolean {
    return this.options.subscriptions.some((one) => {
      if (one.auditIsDue(Infinity)) return true;
      const { take, read } = one.plan;
      if (on.has(one)) return take > 0 || read === 0;
      return take > 0 || read > 0;
    });
  }

  private change(signal: AbortSignal): Promise<void> {
    if (this.changed || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.resume = () => {
        this.resume = null;
        resolve();
      };
    });
  }

  /** Ends the blocking read under way if something is wanted that it does not bring; looked at again, since the next may have begun meanwhile. */
  private async breakOff(): Promise<void> {
    if (this.breakingOff) return;
    this.breakingOff = true;
    try {
      while (this.blocked && this.isWanted(this.blocked.on)) {
        const { over } = this.blocked;
        await this.reader.interrupt();
        await over;
      }
    } catch (error) {
      this.options.events.emit({ type: 'loopFailed', loop: 'read', error, failures: 1 });
    }
    this.breakingOff = false;
  }

  /** One subscription's trouble is its own: the others are read on. */
  private async guard(subscription: Subscription, loop: LoopName, call: () => Promise<void>): Promise<void> {
    try {
      await call();
    } catch (error) {
      subscription.failed(loop, error);
    }
  }
}
