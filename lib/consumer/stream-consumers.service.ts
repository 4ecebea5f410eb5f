import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Broker } from '../broker/broker.js';
import { bind } from '../handlers/bind.js';
import { lateModules } from '../handlers/bootstrap-order.js';
import { StreamHandlerExplorer, type FoundHandler } from '../handlers/explorer.js';
import { ResurrectorService } from '../liveness/resurrector.service.js';
import { nestSink } from '../log/nest-sink.js';
import type { ResolvedOptions } from '../rillkit.options.js';
import { RILLKIT_OPTIONS, RILLKIT_STORE } from '../rillkit.tokens.js';
import type { StreamStore } from '../store/stream-store.js';
import type { HandlerBinding } from './binding.js';
import { Consumers } from './consumers.js';

/** Finds the application's handlers and consumes for them, from its bootstrap until its modules are destroyed. */
@Injectable()
export class StreamConsumers implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly log = nestSink();

  constructor(
    private readonly explorer: StreamHandlerExplorer,
    private readonly consumers: Consumers,
    private readonly broker: Broker,
    @Inject(RILLKIT_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(RILLKIT_STORE) private readonly store: StreamStore,
    private readonly modules: ModulesContainer,
    // Named here so that it starts before and stops after.
    readonly resurrector: ResurrectorService,
  ) {}

  /** @throws RillkitError for a handler that cannot be bound; nothing is left open then. */
  async onApplicationBootstrap(): Promise<void> {
    let bindings: readonly HandlerBinding[];
    try {
      bindings = await this.find();
    } catch (error) {
      // Whoever sees init() fail has no reason to call close().
      await this.resurrector.onModuleDestroy();
      await this.store.close();
      throw error;
    }
    if (bindings.length > 0) this.consumers.start(bindings);
  }

  async onModuleDestroy(): Promise<void> {
    await this.consumers.stop();
  }

  private async find(): Promise<readonly HandlerBinding[]> {
    const { handlers, warnings } = this.explorer.explore();
    const bindings = bind(handlers, this.options);
    await Promise.all(bindings.map(({ definition }) => definition.load()));
    for (const warning of [...warnings, ...this.late(handlers)]) this.log.warn(warning);
    for (const { stream, group, options } of bindings) this.log.log(`Mapped {${stream} → ${group}} ${options.id}`);
    // A bare name says nothing of limits.
    for (const { stream } of handlers) if (typeof stream !== 'string') this.broker.tellUnbounded(stream);
    return bindings;
  }

  private late(handlers: readonly FoundHandler[]): readonly string[] {
    const own = [...this.modules.values()].find((module) => module.getProviderByKey(StreamConsumers)?.instance === this);
    return own
      ? lateModules(
          this.modules,
          own,
          handlers.flatMap(({ host }) => host ?? []),
        )
      : [];
  }
}
