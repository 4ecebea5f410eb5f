import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { Counter, Histogram } from 'prom-client';
import { RillkitEvents, type Outcome } from '../rillkit.events.js';
import { METRIC } from './names.js';

const OUTCOMES: readonly Outcome[] = ['acked', 'retried', 'dead', 'released'];

/** Counts what happens in this process, where it happens: nothing is counted in Redis. */
@Injectable()
export class RillkitMetrics implements OnApplicationShutdown {
  private readonly ends: readonly (() => void)[];

  constructor(
    events: RillkitEvents,
    @InjectMetric(METRIC.published) published: Counter,
    @InjectMetric(METRIC.handled) handled: Counter,
    @InjectMetric(METRIC.duration) duration: Histogram,
    @InjectMetric(METRIC.recovered) recovered: Counter,
    @InjectMetric(METRIC.fenced) fenced: Counter,
    @InjectMetric(METRIC.lost) lost: Counter,
    @InjectMetric(METRIC.handedBack) handedBack: Counter,
    @InjectMetric(METRIC.deadLettered) deadLettered: Counter,
  ) {
    this.ends = [
      // A series that begins at 0 shows its first increase to rate(); one that begins at 1 does not.
      events.on('consuming', ({ stream, group }) => {
        for (const outcome of OUTCOMES) handled.inc({ stream, group, outcome }, 0);
        for (const counter of [recovered, fenced, lost]) counter.inc({ stream, group }, 0);
      }),
      events.on('published', ({ stream, count }) => published.inc({ stream }, count)),
      events.on('handled', ({ stream, group, outcome, durationMs }) => {
        handled.inc({ stream, group, outcome });
        duration.observe({ stream, group }, durationMs / 1_000);
      }),
      events.on('recovered', ({ stream, group, count }) => recovered.inc({ stream, group }, count)),
      events.on('fenced', ({ stream, group }) => fenced.inc({ stream, group })),
      events.on('lost', ({ stream, group, count }) => lost.inc({ stream, group }, count)),
      events.on('handedBack', ({ stream, group, count, why }) => handedBack.inc({ stream, group, why }, count)),
      events.on('deadLettered', ({ stream, group, reason }) => deadLettered.inc({ stream, group, reason })),
    ];
  }

  onApplicationShutdown(): void {
    for (const end of this.ends) end();
  }
}
