import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Sorted } from '../../../lib/store/memory/sorted.js';
import { seedOfRun } from '../../support/random.js';

interface Item {
  readonly key: number;
  readonly value: number;
}

const KEYS = 5_000;
const key = fc.nat({ max: KEYS });
/** What is done to it: thousands at a time, so that it falls into several parts and grows together again. */
const step = fc.oneof(
  fc.record({ do: fc.constant('fill'), from: key, by: fc.integer({ min: 1, max: 5 }), count: fc.nat({ max: 2_000 }) }),
  fc.record({ do: fc.constant('clear'), from: key, by: fc.integer({ min: 1, max: 5 }), count: fc.nat({ max: 2_000 }) }),
  fc.record({ do: fc.constant('dropFirst'), from: key, by: fc.constant(1), count: fc.nat({ max: 1_500 }) }),
);

describe('a sorted list', () => {
  it('is as a plain list that is sorted each time', () => {
    const seed = seedOfRun();
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12, size: 'max' }), fc.array(key, { maxLength: 20 }), (steps, probes) => {
        const sorted = new Sorted<Item, number>((item, wanted) => item.key - wanted);
        const plain = new Map<number, Item>();
        let value = 0;
        for (const { do: what, from, by, count } of steps) {
          const keys = Array.from({ length: count }, (_, i) => (from + i * by) % KEYS);
          if (what === 'dropFirst') {
            sorted.dropFirst(count);
            for (const dropped of [...plain.keys()].toSorted((a, b) => a - b).slice(0, count)) plain.delete(dropped);
          }
          for (const one of what === 'fill' ? keys : []) {
            value += 1;
            sorted.put(one, { key: one, value });
            plain.set(one, { key: one, value });
          }
          for (const one of what === 'clear' ? keys : []) {
            expect(sorted.remove(one)).toEqual(plain.get(one));
            plain.delete(one);
          }
        }
        const all = [...plain.values()].toSorted((a, b) => a.key - b.key);
        expect([...sorted]).toEqual(all);
        expect(sorted.size).toBe(all.length);
        expect(sorted.first).toEqual(all[0]);
        for (const probe of probes) {
          const before = all.filter((item) => item.key < probe).length;
          expect(sorted.before(probe)).toBe(before);
          expect(sorted.get(probe)).toEqual(plain.get(probe));
          expect(sorted.slice(before, 700)).toEqual(all.slice(before, before + 700));
        }
      }),
      { numRuns: 60, seed: seed | 0 },
    );
  });
});
