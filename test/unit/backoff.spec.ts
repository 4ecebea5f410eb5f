import { describe, expect, it, vi } from 'vitest';
import { applyJitter, exponential, fixed } from '../../lib/consumer/backoff.js';

const none = { jitter: () => 0 };
const most = { jitter: (ms: number) => ms };

describe('a backoff', () => {
  it('doubles from 500 ms to a minute, and stays finite', () => {
    const waits = [1, 2, 3, 7, 8, 901, 5_000].map((attempt) => exponential()(attempt, null));
    expect(waits).toEqual([500, 1_000, 2_000, 32_000, 60_000, 60_000, 60_000]);
    expect(exponential({ firstMs: 0, factor: 10 })(901, null)).toBe(0);
  });

  it('takes undefined as absent', () => {
    expect(exponential({ firstMs: undefined, factor: undefined, maxMs: undefined, jitter: undefined })(1, null)).toBe(500);
  });

  it.each([
    [{ firstMs: -1 }, 'backoff.firstMs'],
    [{ firstMs: '1' }, 'backoff.firstMs'],
    [{ firstMs: 70_000 }, 'backoff.firstMs'],
    [{ maxMs: NaN }, 'backoff.maxMs'],
    [{ factor: 0.5 }, 'backoff.factor'],
    [{ jitter: 1.1 }, 'backoff.jitter'],
    [{ jitter: '0.1' }, 'backoff.jitter'],
    [{ first: 1 }, 'backoff.first'],
  ])('V5 refuses %j', (options, option) => {
    expect(() => Reflect.apply(exponential, undefined, [options])).toThrow(expect.objectContaining({ code: 'RILLKIT_OPTION', option }));
    expect(() => fixed(-1)).toThrow(expect.objectContaining({ option: 'backoff' }));
  });

  it('adds its share by chance, and a fixed one nothing', () => {
    expect(applyJitter(exponential(), 1, null, none)).toBe(500);
    expect(applyJitter(exponential(), 1, null, most)).toBe(600);
    expect(applyJitter(fixed(70), 1, null, most)).toBe(70);
    expect(applyJitter((attempt) => attempt * 10.4, 3, null, most)).toBe(31);
  });

  it('of the application that throws, or answers no wait, costs nobody a message', () => {
    const fault = new Error('mine');
    const onFault = vi.fn<(fault: unknown) => void>();
    const broken = (): number => {
      throw fault;
    };
    expect(applyJitter(broken, 2, null, none, onFault)).toBe(1_000);
    expect(onFault).toHaveBeenLastCalledWith(fault);
    for (const answer of [NaN, Infinity, -1, '5', undefined]) {
      expect(Reflect.apply(applyJitter, undefined, [() => answer, 1, null, none, onFault])).toBe(500);
      expect(onFault).toHaveBeenLastCalledWith(expect.objectContaining({ code: 'RILLKIT_OPTION' }));
    }
    expect(onFault).toHaveBeenCalledTimes(6);
  });

  it('cannot park a message for more than a year', () => {
    expect(applyJitter(() => 1e18, 1, null, none)).toBe(365 * 24 * 3_600_000);
  });
});
