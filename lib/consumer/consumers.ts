import type { Clock } from '../clock.js';
import { BEATS_PER_LEASE, Heartbeat } from '../liveness/heartbeat.js';
import type { Resurrector } from '../liveness/resurrector.js';
import { defaultWorkerName, incarnationTag } from '../liveness/worker-name.js';
import type { RillkitEvents } from '../rillkit.events.js';
import type { ResolvedOptions } from '../rillkit.options.js';
import type { StreamStore } from '../store/stream-store.js';
import type { HandlerBinding } from './binding.js';
import { GroupReader } from './group-reader.js';
import { Shutdown } from './shutdown.js';
import { Subscription, type SubscriptionStatus } from './subscription.js';

export interface ConsumersOptions {
  readonly store: StreamStore;
  readonly clock: Clock;
  readonly events: RillkitEvents;
  readonly options: ResolvedOptions;
  readonly resurrector: Resurrector;
}

/** Everything of one group in this process. */
export interface GroupConsumption {
  readonly reader: GroupReader;
  readonly subscriptions: readonly Subscription[];
  /** Hears no nudges from now on. */
  readonly silence: () => void;
}

/** All consumption of one process: a reader for each group, a subscription for each handler, one heartbeat for all. */
export class Consumers {
  private groups: readonly GroupConsumption[] = [];
  private heartbeat: Heartbeat | null = null;
  private stopped: Promise<void> | null = null;
  private readonly tag = incarnationTag();

  constructor(private readonly deps: ConsumersOptions) {}

  /** Begins to consume as soon as Redis answers; does not wait for it. */
  start(bindings: readonly HandlerBinding[]): void {
    if (this.stopped || this.heartbeat || bindings.length === 0) return;
    const { store, clock, events, options, resurrector } = this.deps;
    const names = new Set(bindings.map(({ group }) => group));
    this.groups = [...names].map((name) =>
      this.makeGroup(
        name,
        bindings.filter(({ group }) => group === name),
      ),
    );
    this.heartbeat = new Heartbeat({
      store,
      clock,
      events,
      liveness: options.liveness,
      tag: this.tag,
      beating: this.subscriptions,
      listener: resurrector,
    });
    this.heartbeat.start();
    for (const { reader } of this.groups) reader.start();
  }

  /** Drains and signs off. Always ends by `shutdown.graceMs` + `shutdown.abortMs` and a second, Redis there or not. A second call joins the first. */
  stop(): Promise<void> {
    const { store, clock, events, options } = this.deps;
    this.stopped ??= this.heartbeat
      ? new Shutdown({
          store,
          clock,
          events,
          limits: options.shutdown,
          groups: this.groups,
          heartbeat: this.heartbeat,
          tag: this.tag,
        }).run()
      : Promise.resolve();
    return this.stopped;
  }

  status(): readonly SubscriptionStatus[] {
    return this.subscriptions.map((subscription) => subscription.status);
  }

  private get subscriptions(): readonly Subscription[] {
    return this.groups.flatMap((group) => group.subscriptions);
  }

  private makeGroup(group: string, bindings: readonly HandlerBinding[]): GroupConsumption {
    const { store, clock, events, options, resurrector } = this.deps;
    const worker = options.worker ?? defaultWorkerName(group);
    const subscriptions = bindings.map((binding) => new Subscription({ store, clock, events, binding, worker, module: options }));
    const beatMs = options.liveness.leaseMs / BEATS_PER_LEASE;
    const reader = new GroupReader({ store, clock, events, group, worker, blockMs: options.blockMs, beatMs, subscriptions });
    for (const subscription of subscriptions) {
      subscription.onChange = () => reader.wake();
      resurrector.watch(subscription, subscription.rules.claimIdleMs);
    }
    const silence = store.onNudge(group, (stream) => {
      for (const subscription of subscriptions) if (subscription.stream === stream) subscription.due.in(clock.jitter(NUDGE_JITTER_MS));
    });
    return { reader, subscriptions, silence };
  }
}

/** So that not all workers of a group ask for the same message at once; milliseconds. */
const NUDGE_JITTER_MS = 50;
