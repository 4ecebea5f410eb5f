import { describe, expect, it } from 'vitest';
import { live } from './history.js';

const HISTORIES = 2_000;
const first = Number(process.env['SEED'] ?? 1);

describe(`the simulation, ${HISTORIES} histories from SEED=${first}`, () => {
  it('holds what must always hold, after every step', { timeout: 300_000 }, async () => {
    let steps = 0;
    for (let seed = first; seed < first + HISTORIES; seed += 1) {
      const { failure, history, steps: taken } = await live(seed);
      steps += taken;
      expect(failure, `seed ${seed}\n${history.slice(-60).join('\n')}`).toBeNull();
    }
    console.log(`${HISTORIES} histories, ${steps} steps, none red`);
  });

  it('lives through the same history again from the same seed', async () => {
    const [once, again] = [await live(first), await live(first)];
    expect(again).toEqual(once);
  });
});
