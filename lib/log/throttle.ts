import type { Clock } from '../clock.js';

/** Beyond this many keys, those that have been quiet for a whole period are forgotten. */
const MANY = 1_000;

/** Lets one of a kind through, then at most one a period. */
export class Throttle {
  private readonly kinds = new Map<string, { readonly lastMs: number; held: number }>();

  constructor(
    private readonly clock: Clock,
    private readonly periodMs: number,
  ) {}

  /** How many of this kind were held back since the last one that went through; `null` when this one is held back. */
  admit(kind: string): number | null {
    const nowMs = this.clock.monotonicMs();
    const known = this.kinds.get(kind);
    if (known && nowMs - known.lastMs < this.periodMs) {
      known.held += 1;
      return null;
    }
    if (this.kinds.size >= MANY) this.forgetQuiet(nowMs);
    this.kinds.set(kind, { lastMs: nowMs, held: 0 });
    return known?.held ?? 0;
  }

  private forgetQuiet(nowMs: number): void {
    for (const [kind, { lastMs }] of this.kinds) if (nowMs - lastMs >= this.periodMs) this.kinds.delete(kind);
  }
}
