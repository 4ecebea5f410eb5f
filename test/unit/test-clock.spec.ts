import { describe, expect, it } from 'vitest';
import { TestClock } from '../../lib/testing/index.js';

describe('a clock for tests', () => {
  it('stands still until it is turned, by both of its faces', async () => {
    const clock = new TestClock(1_000);
    expect([clock.wallMs(), clock.monotonicMs(), clock.jitter()]).toEqual([1_000, 0, 0]);
    await clock.advance(250);
    expect([clock.wallMs(), clock.monotonicMs()]).toEqual([1_250, 250]);
  });

  it('lets what falls due run in that order, then in that of its making, each at its own time', async () => {
    const clock = new TestClock();
    const ran: [string, number][] = [];
    const at = (ms: number, name: string) => clock.after(ms, () => ran.push([name, clock.monotonicMs()]));
    at(20, 'late');
    at(10, 'first');
    at(10, 'second');
    at(15, 'cancelled')();
    at(21, 'later');
    await clock.advance(20);
    expect(ran).toEqual([
      ['first', 10],
      ['second', 10],
      ['late', 20],
    ]);
    expect(clock.nextInMs).toBe(1);
  });

  it('lets promises and turns of the event loop go on in between, with the timers that they make', async () => {
    const clock = new TestClock();
    const ran: [string, number][] = [];
    clock.after(10, () => {
      void Promise.resolve().then(() =>
        clock.endOfTurn(() => clock.endOfTurn(() => clock.after(5, () => ran.push(['inner', clock.monotonicMs()])))),
      );
    });
    clock.after(18, () => ran.push(['outer', clock.monotonicMs()]));
    await clock.advance(20);
    expect(ran).toEqual([
      ['inner', 15],
      ['outer', 18],
    ]);
  });

  it('runs what is due at once without being turned', async () => {
    const clock = new TestClock();
    const ran: string[] = [];
    clock.after(0, () => clock.after(-5, () => ran.push('now')));
    await clock.settle();
    expect(ran).toEqual(['now']);
    expect(clock.nextInMs).toBeNull();
  });
});
