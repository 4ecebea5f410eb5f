import { Broker } from '../../lib/broker/broker.js';
import { Stream } from '../../lib/broker/stream.js';
import { systemClock } from '../../lib/clock.js';
import type { HandlerBinding } from '../../lib/consumer/binding.js';
import { Consumers } from '../../lib/consumer/consumers.js';
import type { Message } from '../../lib/handlers/message.js';
import { Resurrector } from '../../lib/liveness/resurrector.js';
import { RillkitEvents, type EventOf, type RillkitEvent } from '../../lib/rillkit.events.js';
import { resolveHandlerOptions, resolveOptions, type RillkitModuleOptions, type StreamHandlerOptions } from '../../lib/rillkit.options.js';
import { RedisStore } from '../../lib/store/redis/redis-store.js';

export interface WorkerOptions {
  readonly url: string;
  readonly stream: Stream | string;
  readonly group?: string;
  readonly handler: (body: never, message: Message) => unknown;
  readonly options?: StreamHandlerOptions;
  readonly module?: RillkitModuleOptions;
  /** More handlers in the same process. */
  readonly also?: readonly Pick<WorkerOptions, 'stream' | 'group' | 'handler' | 'options'>[];
}

/** One start of a handler. */
export interface Run {
  readonly id: string;
  readonly stream: string;
  readonly attempt: number;
  readonly number: number;
  readonly atMs: number;
}

/** What one process of an application has, without Nest: a store, a broker, consumers. Everything it emits is kept. */
export class Worker {
  readonly events = new RillkitEvents((error) => this.listenerErrors.push(error));
  readonly seen: RillkitEvent[] = [];
  readonly runs: Run[] = [];
  readonly listenerErrors: unknown[] = [];
  readonly store: RedisStore;
  readonly broker: Broker;
  readonly consumers: Consumers;
  readonly stream: Stream;
  readonly group: string;
  private readonly resurrector: Resurrector;
  private readonly waiting = new Set<() => void>();

  constructor(private readonly params: WorkerOptions) {
    const { url, group = 'billing', module = {} } = params;
    this.group = group;
    this.stream = typeof params.stream === 'string' ? new Stream(params.stream) : params.stream;
    const options = resolveOptions({ connection: url, blockMs: 1_000, ...module });
    const { events } = this;
    const deps = { clock: systemClock, events };
    this.store = new RedisStore({ ...deps, connection: url, blockMs: options.blockMs });
    this.broker = new Broker({ ...deps, store: this.store, options, client: () => this.store.client });
    this.resurrector = new Resurrector({ ...deps, store: this.store, leaseMs: options.liveness.leaseMs });
    this.consumers = new Consumers({ ...deps, store: this.store, options, resurrector: this.resurrector });
    for (const type of EVENT_TYPES) {
      events.on(type, (event: RillkitEvent) => {
        this.seen.push(event);
        this.wake();
      });
    }
    this.moduleOptions = options;
  }

  private readonly moduleOptions: ReturnType<typeof resolveOptions>;

  start(): this {
    this.store.start();
    this.resurrector.start();
    this.consumers.start([this.params, ...(this.params.also ?? [])].map((one, at) => this.bind(one, `Test.handler${at}`)));
    return this;
  }

  private bind(
    { handler, group = this.group, options = {}, ...rest }: Pick<WorkerOptions, 'stream' | 'group' | 'handler' | 'options'>,
    id: string,
  ): HandlerBinding {
    const stream = typeof rest.stream === 'string' ? new Stream(rest.stream) : rest.stream;
    return {
      stream: stream.name,
      group,
      definition: stream,
      options: resolveHandlerOptions(options, { id, stream, defaults: this.moduleOptions.defaults }),
      invoke: (body, message) => {
        const { number, attempt } = message;
        this.runs.push({ id: message.id, stream: stream.name, attempt, number, atMs: Date.now() });
        try {
          return Reflect.apply(handler, undefined, [body, message]);
        } finally {
          this.wake();
        }
      },
    };
  }

  /** Ends as an application does. */
  async stop(): Promise<void> {
    await this.consumers.stop();
    await this.resurrector.stop();
    await this.store.close();
  }

  of<Type extends RillkitEvent['type']>(type: Type): EventOf<Type>[] {
    return this.seen.filter((event): event is EventOf<Type> => event.type === type);
  }

  /** Ends when `condition` holds; looked at whenever something happens here. */
  async until(condition: () => boolean, what: string, withinMs = 10_000): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (!condition()) return;
        clearTimeout(timer);
        this.waiting.delete(look);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiting.delete(look);
        const counts = Object.fromEntries(EVENT_TYPES.map((type) => [type, this.of(type).length]));
        reject(
          new Error(
            `waited ${withinMs} ms for: ${what}; ${this.runs.length} runs; events ${JSON.stringify(counts)}; last failure ${String(this.of('loopFailed').at(-1)?.error)}`,
          ),
        );
      }, withinMs);
      this.waiting.add(look);
    });
  }

  async untilConsuming(): Promise<void> {
    await this.until(() => this.of('consuming').length > 0, 'the first beat');
  }

  private wake(): void {
    for (const look of this.waiting) look();
  }
}

const EVENT_TYPES = [
  'published',
  'publishFailed',
  'handled',
  'deadLettered',
  'deadLetterRefused',
  'handedBack',
  'fenced',
  'lost',
  'settled',
  'recovered',
  'buried',
  'scanned',
  'leaseLost',
  'leaseRegained',
  'nameTaken',
  'groupMade',
  'consuming',
  'abandoned',
  'connected',
  'disconnected',
  'loopFailed',
  'loopRecovered',
  'callbackFailed',
  'unboundedStream',
] as const satisfies RillkitEvent['type'][];
