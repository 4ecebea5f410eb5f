import { makeCounterProvider, makeGaugeProvider, makeHistogramProvider } from '@willsoto/nestjs-prometheus';
import type { Provider } from '@nestjs/common';
import type { Gauge } from 'prom-client';
import { METRIC } from './names.js';
import { Scraper, type Depth } from './scraper.js';

const PLACE = ['stream', 'group'];

/** Seconds, from a handler that only writes to memory to one that talks to a slow service. */
const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** A gauge that is asked for at each scrape; where nothing is known its series is absent, not 0. */
const asked = (name: string, help: string, labelNames: string[], valueOf: (depth: Depth) => number | null): Provider =>
  makeGaugeProvider({
    name,
    help,
    labelNames,
    inject: [Scraper],
    async collect(this: Gauge, scraper: Scraper) {
      const depths = await scraper.depths();
      this.reset();
      for (const depth of depths) {
        const value = valueOf(depth);
        if (value !== null)
          this.set(Object.fromEntries(labelNames.map((label) => [label, label === 'stream' ? depth.stream : depth.group])), value);
      }
    },
  });

/** Everything that is measured. Labels are few and fixed; no worker, id or text of a message is one. */
export const metrics: readonly Provider[] = [
  makeCounterProvider({ name: METRIC.published, help: 'Messages published by this process', labelNames: ['stream'] }),
  makeCounterProvider({
    name: METRIC.handled,
    help: 'Handlers that have ended, by what became of the message',
    labelNames: [...PLACE, 'outcome'],
  }),
  makeHistogramProvider({ name: METRIC.duration, help: 'How long handlers ran', labelNames: PLACE, buckets: DURATION_BUCKETS }),
  makeCounterProvider({ name: METRIC.recovered, help: 'Messages of dead workers that this process handed on', labelNames: PLACE }),
  makeCounterProvider({ name: METRIC.fenced, help: 'Settlements that came too late and changed nothing', labelNames: PLACE }),
  makeCounterProvider({ name: METRIC.lost, help: 'Pending messages that were trimmed from their stream', labelNames: PLACE }),
  makeCounterProvider({ name: METRIC.handedBack, help: 'Messages handed back without an attempt spent', labelNames: [...PLACE, 'why'] }),
  makeCounterProvider({ name: METRIC.deadLettered, help: 'Messages given up', labelNames: [...PLACE, 'reason'] }),
  makeCounterProvider({ name: METRIC.scrapeFailures, help: 'Questions to Redis at a scrape that were not answered in time' }),
  makeGaugeProvider({
    name: METRIC.inFlight,
    help: 'Messages whose handlers run in this process',
    labelNames: PLACE,
    inject: [Scraper],
    collect(this: Gauge, scraper: Scraper) {
      this.reset();
      for (const { stream, group, running } of scraper.statuses()) this.set({ stream, group }, running);
    },
  }),
  asked(METRIC.undelivered, 'Messages that the group has not been given yet', PLACE, (depth) => depth.undelivered),
  asked(METRIC.pending, 'Messages given to the group and not settled, parked ones included', PLACE, (depth) => depth.pending),
  asked(METRIC.deadLetters, 'Dead letters of the stream', ['stream'], (depth) => depth.deadLetters),
  asked(METRIC.activeWorkers, 'Live workers of the group, in all processes', PLACE, (depth) => depth.activeWorkers),
];
