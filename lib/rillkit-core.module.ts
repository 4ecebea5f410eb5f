import {
  ConfigurableModuleBuilder,
  Inject,
  Module,
  type DynamicModule,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Broker } from './broker/broker.js';
import type { Clock } from './clock.js';
import { Consumers } from './consumer/consumers.js';
import { Resurrector } from './liveness/resurrector.js';
import { EventLog } from './log/event-log.js';
import { nestSink } from './log/nest-sink.js';
import { told } from './log/told.js';
import { systemRuntime, type RillkitRuntime } from './rillkit-runtime.js';
import { DuplicateModuleError } from './rillkit.errors.js';
import { RillkitEvents } from './rillkit.events.js';
import { resolveOptions, type ResolvedOptions, type RillkitModuleOptions } from './rillkit.options.js';
import {
  DEFAULT_NAME,
  RILLKIT_CLOCK,
  RILLKIT_MODULE_OPTIONS,
  RILLKIT_OPTIONS,
  RILLKIT_RUNTIME,
  RILLKIT_STORE,
  refuseName,
} from './rillkit.tokens.js';
import { clientOf } from './store/open-store.js';
import type { StreamStore } from './store/stream-store.js';

/** Makes the options of {@link RillkitModule.forRootAsync} where `useClass` or `useExisting` names a class that implements it. */
export interface RillkitOptionsFactory {
  createRillkitOptions(): RillkitModuleOptions | Promise<RillkitModuleOptions>;
}

const providers: Provider[] = [
  // Nest 11 takes a value for made already, and would not ask the factory that tests put in its place.
  { provide: RILLKIT_RUNTIME, useFactory: (): RillkitRuntime => systemRuntime },
  { provide: RILLKIT_CLOCK, inject: [RILLKIT_RUNTIME], useFactory: (runtime: RillkitRuntime): Clock => runtime.clock },
  {
    provide: RILLKIT_OPTIONS,
    inject: [RILLKIT_MODULE_OPTIONS, ModulesContainer],
    useFactory: (input: RillkitModuleOptions, modules: ModulesContainer): ResolvedOptions => {
      refuseDuplicates(modules);
      return resolveOptions(input);
    },
  },
  {
    provide: RillkitEvents,
    useFactory: (): RillkitEvents => {
      const log = nestSink();
      return new RillkitEvents((error, type) => log.error(`A listener of "${type}" threw: ${told(error)}`));
    },
  },
  {
    provide: EventLog,
    inject: [RillkitEvents, RILLKIT_CLOCK],
    useFactory: (events: RillkitEvents, clock: Clock): EventLog => new EventLog({ events, clock, sink: nestSink() }),
  },
  {
    provide: RILLKIT_STORE,
    inject: [RILLKIT_RUNTIME, RILLKIT_OPTIONS, RillkitEvents],
    useFactory: (runtime: RillkitRuntime, options: ResolvedOptions, events: RillkitEvents): StreamStore =>
      runtime.openStore(options, { clock: runtime.clock, events }),
  },
  {
    provide: Broker,
    inject: [RILLKIT_STORE, RILLKIT_CLOCK, RillkitEvents, RILLKIT_OPTIONS],
    useFactory: (store: StreamStore, clock: Clock, events: RillkitEvents, options: ResolvedOptions): Broker =>
      new Broker({ store, clock, events, options, client: () => clientOf(store) }),
  },
  {
    provide: Resurrector,
    inject: [RILLKIT_STORE, RILLKIT_CLOCK, RillkitEvents, RILLKIT_OPTIONS],
    useFactory: (store: StreamStore, clock: Clock, events: RillkitEvents, { liveness }: ResolvedOptions): Resurrector =>
      new Resurrector({ store, clock, events, leaseMs: liveness.leaseMs }),
  },
  {
    provide: Consumers,
    inject: [RILLKIT_STORE, RILLKIT_CLOCK, RillkitEvents, RILLKIT_OPTIONS, Resurrector],
    useFactory: (store: StreamStore, clock: Clock, events: RillkitEvents, options: ResolvedOptions, resurrector: Resurrector): Consumers =>
      new Consumers({ store, clock, events, options, resurrector }),
  },
];

const shared = [RILLKIT_OPTIONS, RILLKIT_CLOCK, RILLKIT_STORE, RillkitEvents, Broker, Resurrector, Consumers];

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<RillkitModuleOptions>({ optionsInjectionToken: RILLKIT_MODULE_OPTIONS })
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createRillkitOptions')
  .setExtras<{ name?: string }>({ name: DEFAULT_NAME }, (definition, { name }): DynamicModule => {
    refuseName(name);
    return { ...definition, global: true, providers: [...(definition.providers ?? []), ...providers], exports: shared };
  })
  .build();

/**
 * Options, the connection and the Broker. Global, so that Nest runs its hooks first at the start and last at the end: whatever an
 * application publishes while it starts and stops still finds the connection open.
 */
@Module({})
export class RillkitCoreModule extends ConfigurableModuleClass implements OnModuleInit, OnApplicationShutdown {
  private silence: () => void = () => {};

  constructor(
    @Inject(RILLKIT_STORE) private readonly store: StreamStore,
    private readonly log: EventLog,
  ) {
    super();
  }

  onModuleInit(): void {
    this.silence = this.log.start();
    this.store.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.store.close();
    this.silence();
  }
}

/** Nest keeps modules apart by the object that was imported: one object imported twice is one module, two calls of `forRoot` are two. */
function refuseDuplicates(modules: ModulesContainer): void {
  const cores = [...modules.values()].filter(({ metatype }) => metatype === RillkitCoreModule);
  if (cores.length < 2) return;
  throw new DuplicateModuleError(
    'RillkitModule.forRoot() was called twice in one application. Call it once, in the root module; the Broker is global. To import it in two places, import one and the same object.',
  );
}
