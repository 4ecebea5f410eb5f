import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { getToken } from '@willsoto/nestjs-prometheus';
import { register } from 'prom-client';
import { metrics } from './metrics.js';
import { METRIC } from './names.js';
import { RillkitMetrics } from './rillkit-metrics.js';
import { Scraper } from './scraper.js';

/**
 * Adds the library's metrics to the default registry of prom-client, beside an application's `PrometheusModule`, which serves them. Its
 * `customMetricPrefix` counts where that module is global.
 *
 * A process has one default registry: a second application that runs at the same time shares the first one's metrics, its gauges stay the
 * first one's, and the first to close takes them along. Applications that follow each other do not meet.
 */
@Module({ providers: [...metrics, Scraper, RillkitMetrics], exports: [...metrics] })
export class RillkitMetricsModule implements OnApplicationShutdown {
  constructor(private readonly own: ModuleRef) {}

  /** Takes the metrics out of the registry: the next application must not meet gauges that ask this one. */
  onApplicationShutdown(): void {
    const ours = new Set(Object.values(METRIC).map((name): unknown => this.own.get(getToken(name), { strict: true })));
    for (const { name } of register.getMetricsAsArray()) {
      // Under the OpenMetrics type a scrape renames counters, the registry does not.
      for (const key of [name, `${name}_total`]) if (ours.has(register.getSingleMetric(key))) register.removeSingleMetric(key);
    }
  }
}
