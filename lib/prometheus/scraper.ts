import { Inject, Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { Counter } from 'prom-client';
import type { Clock } from '../clock.js';
import { Consumers } from '../consumer/consumers.js';
import type { SubscriptionStatus } from '../consumer/subscription.js';
import { RILLKIT_CLOCK, RILLKIT_STORE } from '../rillkit.tokens.js';
import type { Place, StreamStore } from '../store/stream-store.js';
import { within } from '../time-limit.js';
import { METRIC } from './names.js';

/** How long a scrape waits for Redis, milliseconds. Prometheus itself gives up after 10 seconds. */
export const SCRAPE_TIMEOUT_MS = 1_000;

/** What is known of a stream and group at a scrape; `null` is unknown. */
export interface Depth extends Place {
  readonly undelivered: number | null;
  readonly pending: number | null;
  readonly deadLetters: number | null;
  readonly activeWorkers: number | null;
}

/** Asks Redis what a scrape wants to know: once for all gauges of the scrape, and never for longer than a second. */
@Injectable()
export class Scraper {
  private underWay: Promise<readonly Depth[]> | null = null;

  constructor(
    private readonly consumers: Consumers,
    @Inject(RILLKIT_STORE) private readonly store: StreamStore,
    @Inject(RILLKIT_CLOCK) private readonly clock: Clock,
    @InjectMetric(METRIC.scrapeFailures) private readonly failures: Counter,
  ) {}

  /** The subscriptions of this process. */
  statuses(): readonly SubscriptionStatus[] {
    return this.consumers.status();
  }

  /** Never rejects: a gauge that throws would fail the whole scrape. All gauges of one scrape ask in the same turn and share one answer. */
  depths(): Promise<readonly Depth[]> {
    this.underWay ??= Promise.all(this.statuses().map((place) => this.depth(place))).finally(() => {
      this.underWay = null;
    });
    return this.underWay;
  }

  private async depth({ stream, group }: Place): Promise<Depth> {
    const place = { stream, group };
    const [stats, workers] = await Promise.all([this.known(this.store.stats(place)), this.known(this.store.workers(place))]);
    return {
      ...place,
      undelivered: stats?.undelivered ?? null,
      pending: stats?.pending ?? null,
      deadLetters: stats?.deadLetters ?? null,
      activeWorkers: workers?.length ?? null,
    };
  }

  private async known<T>(question: Promise<T>): Promise<T | null> {
    try {
      return await within(this.clock, SCRAPE_TIMEOUT_MS, question);
    } catch {
      // Counted, and seen as an absent series; the log has the outage itself.
      this.failures.inc();
      return null;
    }
  }
}
