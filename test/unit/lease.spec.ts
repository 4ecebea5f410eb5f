import { describe, expect, it } from 'vitest';
import { momentOf } from '../../lib/clock.js';
import { Lease } from '../../lib/liveness/lease.js';
import { ManualClock } from '../support/manual-clock.js';

function make() {
  const clock = new ManualClock();
  let lost = 0;
  const lease = new Lease(clock, 6_000, () => (lost += 1));
  return { clock, lease, lost: () => lost };
}

describe('what a worker believes of its own lease', () => {
  it('counts from the sending of a beat, not from its answer', async () => {
    const { clock, lease, lost } = make();
    const sentAt = momentOf(clock);
    await clock.advance(5_000);
    expect(lease.renewed(sentAt)).toBe('first');
    await clock.advance(999);
    expect(lease.held).toBe(true);
    await clock.advance(1);
    expect([lease.held, lost()]).toEqual([false, 1]);
  });

  it('is not renewed by an answer that comes a lease after its beat was sent', async () => {
    const { clock, lease } = make();
    const sentAt = momentOf(clock);
    await clock.advance(6_000);
    expect(lease.renewed(sentAt)).toBe('tooLate');
    expect(lease.state).toBe('none');
  });

  it('ends while the machine is suspended, which only the wall clock sees', () => {
    const { clock, lease, lost } = make();
    lease.renewed(momentOf(clock));
    clock.jumpWall(6_000);
    expect([lease.held, lost()]).toEqual([false, 1]);
  });

  it('does not get longer when the wall clock is set back', async () => {
    const { clock, lease } = make();
    lease.renewed(momentOf(clock));
    clock.jumpWall(-3_600_000);
    await clock.advance(6_000);
    expect(lease.held).toBe(false);
  });

  it('is regained by the next good beat', async () => {
    const { clock, lease } = make();
    lease.renewed(momentOf(clock));
    await clock.advance(7_000);
    expect(lease.renewed(momentOf(clock))).toBe('regained');
    expect(lease.renewed(momentOf(clock))).toBe('kept');
  });
});
