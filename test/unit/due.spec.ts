import { describe, expect, it } from 'vitest';
import { Due } from '../../lib/consumer/due.js';
import { ManualClock } from '../support/manual-clock.js';

function make() {
  const clock = new ManualClock();
  let told = 0;
  const due = new Due(clock, () => void (told += 1));
  return { clock, due, told: () => told };
}

describe('what is known of due messages', () => {
  it('falls due at the earliest of the times it was told', async () => {
    const { clock, due, told } = make();
    due.in(500);
    due.in(200);
    due.in(900);
    await clock.advance(199);
    expect(due.known).toBe(false);
    await clock.advance(1);
    expect([due.known, told()]).toEqual([true, 1]);
  });

  it('is over when a take finds no more, until the next falls due', async () => {
    const { clock, due } = make();
    due.in(0);
    due.asked();
    due.answered(300);
    expect(due.known).toBe(false);
    await clock.advance(300);
    expect(due.known).toBe(true);
  });

  it('is kept when news comes while a take is under way, since its answer may be older', () => {
    const { due } = make();
    due.in(0);
    due.asked();
    due.in(0);
    due.answered(null);
    expect(due.known).toBe(true);
  });

  it('goes on at once when a take says that more are due', () => {
    const { due } = make();
    due.in(0);
    due.asked();
    due.answered(0);
    expect(due.known).toBe(true);
  });

  it('leaves no timer behind', () => {
    const { clock, due } = make();
    due.in(500);
    due.stop();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('due messages of a subscription that has stopped', () => {
  it('are heard of no more, and leave no timer behind', () => {
    const clock = new ManualClock();
    let told = 0;
    const due = new Due(clock, () => void (told += 1));
    due.stop();
    due.in(0);
    due.in(1_000);
    due.answered(1_000);
    expect(told).toBe(0);
    expect(due.known).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });
});
