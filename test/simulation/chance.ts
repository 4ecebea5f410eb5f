/** Chance from a seed: the same seed, the same history (mulberry32, public domain). */
export class Chance {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** From 0 to 1, without 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Whether something with this probability happens. */
  is(probability: number): boolean {
    return this.next() < probability;
  }

  /** From `min` to `max`. */
  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  whole(min: number, max: number): number {
    return Math.floor(this.between(min, max + 1));
  }

  pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.next() * from.length)];
  }
}
