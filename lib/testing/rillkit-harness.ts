import type { BeforeApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import { toStream, type StreamOrName } from '../broker/place.js';
import type { Published, PublishOptions } from '../broker/publisher.js';
import type { Stream } from '../broker/stream.js';
import { checkKeys } from '../option-checks.js';
import type { BrokerUnderTest } from './broker-under-test.js';
import { checkMs, pause, realMs } from './real-time.js';
import type { DeadMessage, HandledMessage, PublishedMessage } from './records.js';
import type { TestClock } from './test-clock.js';
import { TestingError } from './testing.error.js';

export interface DrainOptions {
  /** How long handlers that wait for the world outside are waited for, milliseconds of real time. @default 5_000 */
  readonly timeoutMs?: number | undefined;
}

export interface HandledOptions {
  /** @default all groups */
  readonly group?: string | undefined;
}

const DRAIN_MS = 5_000;
/** How long one attempt that waits for the world outside is waited for before the clock is turned on, milliseconds of real time. */
const PATIENCE_MS = 100;
/** As much at the end of the application; then its grace is over. */
const LAST_PATIENCE_MS = 1_000;
/** The longest that the clock is turned for an application that closes, milliseconds of real time. */
const CLOSING_MS = 10_000;

/**
 * What a test has of an application that `withRillkitTesting` has prepared: `moduleRef.get(RillkitHarness)`. Time stands still in all
 * of the library until {@link advance} turns it; handlers and their own timers are real.
 */
export class RillkitHarness implements OnModuleDestroy, BeforeApplicationShutdown {
  /** Attempts that were waited for in vain. */
  private outwaited: ReadonlySet<string> = new Set();
  private closing = false;

  /** `clock`: what all of the library goes by. `brokers`: those of the application, as they are made. */
  constructor(
    readonly clock: TestClock,
    private readonly brokers: readonly BrokerUnderTest[],
  ) {}

  /**
   * Adds a message as `broker.publish` does, and lets it arrive: handlers that need nothing from the world outside have ended with it.
   * @throws TestingError before the application has started; what `broker.publish` throws.
   */
  publish<Out, In>(stream: Stream<Out, In>, body: NoInfer<In>, options?: PublishOptions): Promise<Published>;
  publish(stream: string, body: unknown, options?: PublishOptions): Promise<Published>;
  async publish(stream: StreamOrName, body: unknown, options?: PublishOptions): Promise<Published> {
    const { broker } = this.started()[0];
    const published = await broker.publish(toStream(stream), body, options);
    await this.clock.settle();
    return published;
  }

  /**
   * Ends when nothing is due and no handler runs. The clock stands still meanwhile: messages that are parked for later do not hold it up.
   * @throws TestingError before the application has started; after `timeoutMs`, saying which handlers have not ended with what.
   */
  async drain(options: DrainOptions = {}): Promise<void> {
    checkKeys('drain', options, ['timeoutMs']);
    const timeoutMs = checkMs('drain.timeoutMs', options.timeoutMs ?? DRAIN_MS);
    const startedMs = realMs();
    for (;;) {
      this.started();
      await this.clock.settle();
      const unfinished = this.brokers.flatMap((broker) => broker.unfinished());
      if (unfinished.length === 0) return;
      if (realMs() - startedMs >= timeoutMs) throw new TestingError(stuck(timeoutMs, unfinished));
      await pause();
    }
  }

  /**
   * Turns the clock by `ms` milliseconds: retries, leases, timeouts and whatever else falls due does so in its order, each at its own time,
   * and handlers end in between. One that waits for the world outside is given 100 ms of real time for each attempt.
   * @throws TestingError before the application has started.
   */
  async advance(ms: number): Promise<void> {
    this.started();
    await this.clock.advance(ms, () => this.rest(PATIENCE_MS));
  }

  /** What the stream holds, oldest first, whoever published it. */
  published(stream: StreamOrName): readonly PublishedMessage[] {
    return this.brokers.flatMap((broker) => broker.published(toStream(stream)));
  }

  /** Each attempt that has ended, in that order. */
  handled(stream: StreamOrName, options: HandledOptions = {}): readonly HandledMessage[] {
    checkKeys('handled', options, ['group']);
    return this.brokers.flatMap((broker) => broker.handled(toStream(stream), options.group));
  }

  /** The stream's dead letters, oldest first. */
  deadLetters(stream: StreamOrName): readonly DeadMessage[] {
    return this.brokers.flatMap((broker) => broker.deadLetters(toStream(stream)));
  }

  /** Time goes on while the application closes, or a handler that hangs would be waited for without end. */
  onModuleDestroy(): void {
    this.closing = true;
    void this.letEnd();
  }

  beforeApplicationShutdown(): void {
    this.closing = false;
  }

  private started(): readonly [BrokerUnderTest, ...BrokerUnderTest[]] {
    const [first, ...others] = this.brokers;
    if (!first) throw new TestingError('There is no RillkitModule in the module under test: import the one that your application imports.');
    const { state } = first;
    if (state === 'idle') throw new TestingError('The application has not started: await app.init(), or moduleRef.init(), first.');
    if (state === 'closed') throw new TestingError('The application is closed.');
    return [first, ...others];
  }

  /** Lets all settle, and each attempt that then waits for the world outside have `patienceMs`, once. */
  private async rest(patienceMs: number): Promise<void> {
    const startedMs = realMs();
    for (;;) {
      await this.clock.settle();
      const running = this.brokers.flatMap((broker) => broker.running().map(({ key }) => key));
      const fresh = running.some((key) => !this.outwaited.has(key));
      if (fresh && realMs() - startedMs < patienceMs) await pause();
      else {
        this.outwaited = new Set(running);
        return;
      }
    }
  }

  private async letEnd(): Promise<void> {
    const startedMs = realMs();
    this.outwaited = new Set();
    let seenMs = startedMs;
    while (this.closing && realMs() - startedMs < CLOSING_MS) {
      await this.rest(LAST_PATIENCE_MS);
      await pause();
      const nowMs = realMs();
      // A handler that has had its time gets no more of it; else time goes on as it really does.
      const isHung = this.outwaited.size > 0;
      await this.clock.advance(isHung ? (this.clock.nextInMs ?? 0) : nowMs - seenMs);
      seenMs = nowMs;
    }
  }
}

const stuck = (timeoutMs: number, unfinished: readonly string[]): string =>
  `Not drained within ${timeoutMs} ms of real time: ${unfinished.slice(0, MOST_TOLD).join('; ')}${unfinished.length > MOST_TOLD ? '; …' : ''}.`;

const MOST_TOLD = 10;
