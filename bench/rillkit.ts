import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RillkitModule, Stream, StreamHandler } from '@rillkit/nestjs';
import type { Redis } from 'ioredis';
import { type Body, type Contender, Sink } from './contender.js';
import { fillStream, GROUP, settled, STREAM } from './entries.js';

const Bench = new Stream<Body>(STREAM, { maxLen: 1_000_000 });

@Injectable()
class BenchHandler {
  constructor(private readonly sink: Sink) {}

  @StreamHandler(Bench)
  async handle(body: Body): Promise<void> {
    this.sink.handle(body);
  }
}

/** The library as an application uses it: module, decorator, leases, fences and all. */
export const rillkit = (url: string, control: Redis, concurrency: number): Contender => ({
  name: `Rillkit, c = ${concurrency}`,
  fill: (count) => fillStream(control, count),
  async consume(count, stopwatch) {
    const sink = new Sink(count, stopwatch);

    @Module({
      imports: [RillkitModule.forRoot({ connection: url, group: GROUP, defaults: { concurrency } })],
      providers: [BenchHandler, { provide: Sink, useValue: sink }],
    })
    class BenchModule {}

    const app = await NestFactory.createApplicationContext(BenchModule, { logger: ['error', 'warn'] });
    await sink.all;
    await settled(control);
    stopwatch.ends();
    await app.close();
  },
});
