import { Module, type ConfigurableModuleAsyncOptions, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { StreamConsumers } from './consumer/stream-consumers.service.js';
import { StreamHandlerExplorer } from './handlers/explorer.js';
import { ResurrectorService } from './liveness/resurrector.service.js';
import { RillkitCoreModule } from './rillkit-core.module.js';
import { OptionError } from './rillkit.errors.js';
import type { RillkitModuleOptions } from './rillkit.options.js';

/** Which instance; more than `'default'` is not there yet. */
export interface InstanceName {
  readonly name?: string;
}

/** `useFactory` with `inject`, or `useClass` / `useExisting` of a {@link RillkitOptionsFactory}. */
export type RillkitModuleAsyncOptions = ConfigurableModuleAsyncOptions<RillkitModuleOptions, 'createRillkitOptions'> & InstanceName;

/**
 * What an application imports, **last in the imports of its root module**: Nest runs the start of modules in that order, and their end in
 * the opposite one, so that handlers get messages when everything they need has started, and have ended before any of it stops.
 */
@Module({ imports: [DiscoveryModule], providers: [StreamHandlerExplorer, ResurrectorService, StreamConsumers] })
export class RillkitModule {
  /**
   * @throws OptionError while the application is made, for a wrong option; DuplicateModuleError, when there are two.
   */
  static forRoot(options: RillkitModuleOptions & InstanceName = {}): DynamicModule {
    return { module: RillkitModule, imports: [RillkitCoreModule.forRoot(options)] };
  }

  /** As {@link forRoot}, with options that are made by other providers. */
  static forRootAsync(options: RillkitModuleAsyncOptions): DynamicModule {
    if (!options.useFactory && !options.useClass && !options.useExisting) {
      throw new OptionError('forRootAsync', 'needs one of useFactory, useClass, useExisting');
    }
    return { module: RillkitModule, imports: [RillkitCoreModule.forRootAsync(options)] };
  }
}
