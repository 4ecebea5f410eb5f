import { Inject, Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { placeOf, toStream, type StreamOrName } from '../broker/place.js';
import type { Clock } from '../clock.js';
import { Consumers } from '../consumer/consumers.js';
import { told } from '../log/told.js';
import { checkKeys, MAX_TIMER_MS, whole, wholeMs } from '../option-checks.js';
import type { ResolvedOptions } from '../rillkit.options.js';
import { RILLKIT_CLOCK, RILLKIT_OPTIONS, RILLKIT_STORE } from '../rillkit.tokens.js';
import type { StreamStore } from '../store/stream-store.js';
import { within } from '../time-limit.js';
import { faultOf } from './readiness.js';

export interface ReadyOptions {
  /** How long the question may take, milliseconds; the answer is `down` then. @default 1_000 */
  readonly timeoutMs?: number | undefined;
}

export interface ActiveWorkersOptions extends ReadyOptions {
  readonly stream: StreamOrName;
  /** @default the stream's, else the module's */
  readonly group?: string | undefined;
  /** Fewer live workers than this are `down`. @default 1 */
  readonly min?: number | undefined;
}

export interface DeadLettersOptions extends ReadyOptions {
  readonly stream: StreamOrName;
  /** More dead letters than this are `down`. @default no limit: only their count is told, since a restart does not cure them */
  readonly max?: number | undefined;
}

const DEFAULT_TIMEOUT_MS = 1_000;
const DEFAULT_MIN = 1;
const COUNT = { min: 0, max: Number.MAX_SAFE_INTEGER };

interface Finding {
  readonly up: boolean;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Answers for a health check: `health.check([() => rillkit.isReady('rillkit')])`. Each answers within its time limit, Redis there or not, and
 * never rejects. Wrong options throw at once.
 */
@Injectable()
export class RillkitHealthIndicator {
  constructor(
    private readonly health: HealthIndicatorService,
    private readonly consumers: Consumers,
    @Inject(RILLKIT_STORE) private readonly store: StreamStore,
    @Inject(RILLKIT_CLOCK) private readonly clock: Clock,
    @Inject(RILLKIT_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** `up` while Redis answers and every subscription of this process holds its lease and reads. @throws OptionError for a wrong option. */
  isReady<const Key extends string>(key: Key, options: ReadyOptions = {}): Promise<HealthIndicatorResult<Key>> {
    checkKeys('isReady', options, ['timeoutMs']);
    return this.answer(key, options, async () => {
      await this.store.ping();
      const faults = this.consumers.status().flatMap((status) => faultOf(status, this.options) ?? []);
      return faults.length === 0 ? { up: true, data: {} } : { up: false, data: { message: faults.join('; ') } };
    });
  }

  /** `up` while the group has at least `min` live workers, in whatever process. @throws OptionError for a wrong option or no group. */
  activeWorkers<const Key extends string>(key: Key, options: ActiveWorkersOptions): Promise<HealthIndicatorResult<Key>> {
    checkKeys('activeWorkers', options, ['stream', 'group', 'min', 'timeoutMs']);
    const min = whole('activeWorkers.min', options.min ?? DEFAULT_MIN, COUNT);
    const place = placeOf(toStream(options.stream), options.group, this.options.group);
    return this.answer(key, options, async () => {
      const workers = (await this.store.workers(place)).length;
      return { up: workers >= min, data: { workers, min } };
    });
  }

  /** `up` while the stream has at most `max` dead letters. @throws OptionError for a wrong option. */
  deadLetters<const Key extends string>(key: Key, options: DeadLettersOptions): Promise<HealthIndicatorResult<Key>> {
    checkKeys('deadLetters', options, ['stream', 'max', 'timeoutMs']);
    const max = options.max === undefined ? null : whole('deadLetters.max', options.max, COUNT);
    const { name } = toStream(options.stream);
    return this.answer(key, options, async () => {
      const deadLetters = await this.store.countDeadLetters(name);
      return { up: max === null || deadLetters <= max, data: { deadLetters, ...(max === null ? {} : { max }) } };
    });
  }

  private answer<const Key extends string>(
    key: Key,
    { timeoutMs = DEFAULT_TIMEOUT_MS }: ReadyOptions,
    ask: () => Promise<Finding>,
  ): Promise<HealthIndicatorResult<Key>> {
    wholeMs('timeoutMs', timeoutMs, { min: 1, max: MAX_TIMER_MS });
    const check = this.health.check(key);
    // Only up() and down(): the rest of a check is not in Terminus 11.
    return within(this.clock, timeoutMs, ask()).then(
      ({ up, data }) => (up ? check.up(data) : check.down(data)),
      (error: unknown) => check.down({ message: told(error) }),
    );
  }
}
