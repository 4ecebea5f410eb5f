import { Stream } from '../../lib/broker/stream.js';
import { Consumers } from '../../lib/consumer/consumers.js';
import type { Message } from '../../lib/handlers/message.js';
import { Resurrector } from '../../lib/liveness/resurrector.js';
import { RillkitEvents } from '../../lib/rillkit.events.js';
import { resolveHandlerOptions, resolveOptions, type StreamHandlerOptions } from '../../lib/rillkit.options.js';
import type { MemoryStore } from '../../lib/store/memory/memory-store.js';
import type { Place } from '../../lib/store/stream-store.js';
import type { Clock } from '../../lib/clock.js';
import { FaultyStore } from './faulty-store.js';
import { Machine } from './machine.js';
import { watched } from './watched.js';
import type { Connection } from './network.js';

type World = ConstructorParameters<typeof Connection>[0];

export const LEASE_MS = 6_000;
export const BEAT_MS = LEASE_MS / 3;
export const GRACE_MS = 2_000;
export const ABORT_MS = 500;

export interface SimProcessParams {
  readonly world: World;
  readonly server: MemoryStore;
  readonly serverSide: Clock;
  readonly place: Place;
  readonly worker: string;
  readonly skewMs: number;
  readonly blockMs: number;
  /** Told of what a call at the server did that it must not. */
  readonly onWrong: (what: string) => void;
  readonly handler: StreamHandlerOptions;
  readonly handle: (message: Message, process: SimProcess) => Promise<void>;
}

/** One process of an application, with the real consumers, heartbeat and resurrector, on a machine that can be frozen or die. */
export class SimProcess {
  readonly machine: Machine;
  readonly events = new RillkitEvents();
  readonly store: FaultyStore;
  /** When something last happened to this process alone that may have cost it its lease. */
  lastHarmMs = Number.NEGATIVE_INFINITY;
  /** When its lease was last lost. */
  lostLeaseMs = Number.NEGATIVE_INFINITY;
  stopping = false;
  stopped = false;
  private readonly consumers: Consumers;
  private readonly resurrector: Resurrector;

  constructor(private readonly params: SimProcessParams) {
    const { world, server, serverSide, place, worker, skewMs, blockMs, onWrong } = params;
    this.machine = new Machine(world.scheduler, world.chance, skewMs);
    const { clock } = this.machine;
    const { events } = this;
    const door = server.open({ clock: serverSide, events: new RillkitEvents() });
    door.start();
    this.store = new FaultyStore(watched(door, server, place, onWrong), world, this.machine);
    const options = resolveOptions({
      connection: server,
      worker,
      blockMs,
      liveness: { leaseMs: LEASE_MS, heartbeat: false },
      shutdown: { graceMs: GRACE_MS, abortMs: ABORT_MS },
    });
    this.resurrector = new Resurrector({ store: this.store, clock, events, leaseMs: LEASE_MS });
    this.consumers = new Consumers({ store: this.store, clock, events, options, resurrector: this.resurrector });
    events.on('leaseLost', () => (this.lostLeaseMs = world.scheduler.nowMs));
  }

  get worker(): string {
    return this.params.worker;
  }

  get isAlive(): boolean {
    return this.machine.state !== 'dead' && !this.stopped;
  }

  start(): void {
    const { place, handler, handle } = this.params;
    const definition = new Stream(place.stream);
    this.resurrector.start();
    this.consumers.start([
      {
        ...place,
        definition,
        options: resolveHandlerOptions(handler, { id: 'simulated', stream: definition, defaults: {} }),
        invoke: (_body, message) => handle(message, this),
      },
    ]);
  }

  /** As an application closes; ends when it has. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.consumers.stop();
    await this.resurrector.stop();
    await this.store.close();
    this.stopped = true;
    // The process ends: nothing of it goes on.
    this.machine.die();
  }

  die(): void {
    this.machine.die();
    this.store.cut();
  }
}
