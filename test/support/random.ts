/** Numbers from 0 to 1 that a seed repeats (mulberry32), so that a failure by chance can be run again. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seed of this run: `SEED` of the environment, else one by chance. Print it. */
export const seedOfRun = (): number => Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32));
