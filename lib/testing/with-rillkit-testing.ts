import { Module, type DynamicModule } from '@nestjs/common';
import { LazyModuleLoader, ModuleRef } from '@nestjs/core';
import type { TestingModuleBuilder } from '@nestjs/testing';
import { RILLKIT_RUNTIME } from '../rillkit.tokens.js';
import { BrokerUnderTest } from './broker-under-test.js';
import { RillkitHarness } from './rillkit-harness.js';
import { TestClock } from './test-clock.js';

export interface TestingOptions {
  /** @default one that begins at the real time */
  readonly clock?: TestClock | undefined;
}

/** Holds the harness, so that `moduleRef.get(RillkitHarness)` finds it. */
@Module({})
class RillkitTestingModule {}

/**
 * Prepares a test: `withRillkitTesting(Test.createTestingModule({ imports: [AppModule] }))`, and all brokers of the application keep their
 * messages in memory, wherever their connections lead, and go by a clock that stands still until it is turned. Their other options hold.
 * Answers the same builder. What the test needs then is `moduleRef.get(RillkitHarness)`.
 */
export function withRillkitTesting(builder: TestingModuleBuilder, options: TestingOptions = {}): TestingModuleBuilder {
  const clock = options.clock ?? new TestClock();
  const brokers: BrokerUnderTest[] = [];
  const harness = new RillkitHarness(clock, brokers);
  const module: DynamicModule = { module: RillkitTestingModule, providers: [{ provide: RillkitHarness, useValue: harness }] };
  let loaded: Promise<unknown> | null = null;
  return builder.overrideProvider(RILLKIT_RUNTIME).useFactory({
    inject: [ModuleRef, LazyModuleLoader],
    factory: async (core: ModuleRef, loader: LazyModuleLoader) => {
      const broker = new BrokerUnderTest(clock, core);
      brokers.push(broker);
      await (loaded ??= loader.load(() => Promise.resolve(module)));
      return broker;
    },
  });
}
