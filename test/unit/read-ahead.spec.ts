import { describe, expect, it } from 'vitest';
import { ReadAhead } from '../../lib/consumer/read-ahead.js';
import { ManualClock } from '../support/manual-clock.js';

const make = (options: Partial<ConstructorParameters<typeof ReadAhead>[0]> = {}) => {
  const clock = new ManualClock();
  const readAhead = new ReadAhead({ prefetch: 'auto', concurrency: 1, count: 100, maxRetries: 3, maxHandBacks: 8, ...options }, clock);
  const ended = (...durations: number[]) => durations.forEach((ms) => readAhead.ended(ms, clock.monotonicMs()));
  return { clock, readAhead, ended };
};

describe('reading ahead of free slots', () => {
  it('reads nothing ahead before the first handler has ended', () => {
    expect(make().readAhead.allowance).toBe(0);
  });

  it('reads as many ahead as start within 50 ms', () => {
    const { readAhead, ended } = make({ concurrency: 4 });
    ended(10, 10, 10);
    expect(readAhead.allowance).toBe(20);
  });

  it('reads up to `count` ahead for a fast handler, and nothing for a slow one', () => {
    const fast = make();
    fast.ended(0.01);
    expect(fast.readAhead.allowance).toBe(100);
    const slow = make();
    slow.ended(51);
    expect(slow.readAhead.allowance).toBe(0);
  });

  it('stops after one slow message among fast ones, and comes back', () => {
    const { readAhead, ended } = make();
    ended(0.1, 0.1, 5_000);
    expect(readAhead.allowance).toBe(0);
    ended(...Array.from({ length: 60 }, () => 0.1));
    expect(readAhead.allowance).toBeGreaterThan(20);
  });

  it('reads nothing ahead once what waits has stalled, until a handler ends', () => {
    const { readAhead, ended } = make();
    ended(0.1);
    readAhead.stall();
    expect(readAhead.allowance).toBe(0);
    ended(0.1);
    expect(readAhead.allowance).toBe(100);
  });

  it('takes a number as the user’s word, which never stalls', () => {
    const { readAhead } = make({ prefetch: 7 });
    expect(readAhead.allowance).toBe(7);
    expect(readAhead.stallsInMs(0)).toBeNull();
  });

  it('reads nothing ahead by itself where a hand-back would cost an attempt', () => {
    const { readAhead, ended } = make({ maxHandBacks: 0 });
    ended(0);
    expect(readAhead.allowance).toBe(0);
  });

  it('reads nothing ahead without retries: a neighbour’s crash would cost a message its only attempt', () => {
    const { readAhead, ended } = make({ maxRetries: 0, prefetch: 7 });
    ended(0.1);
    expect(readAhead.allowance).toBe(0);
  });
});
