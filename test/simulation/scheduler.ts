interface Happening {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** Everything that happens in a simulated world, one thing after the other, at times of its own. Nothing here depends on real time. */
export class Scheduler {
  /** The world's own time, milliseconds. */
  nowMs = 0;
  /** How many things have happened. */
  steps = 0;
  private order = 0;
  /** A binary heap: the next is first. */
  private readonly heap: Happening[] = [];

  /** Lets something happen in `ms` milliseconds, behind everything that happens then already; answers how to prevent it. */
  in(ms: number, run: () => void): () => void {
    let wanted = true;
    this.push({
      atMs: this.nowMs + Math.max(0, ms),
      order: (this.order += 1),
      run: () => {
        if (wanted) run();
      },
    });
    return () => {
      wanted = false;
    };
  }

  /** Lets the next thing happen, and all that follows from it at once. Answers `false` when nothing is left. */
  async step(): Promise<boolean> {
    const next = this.pop();
    if (!next) return false;
    this.nowMs = next.atMs;
    this.steps += 1;
    next.run();
    // A turn of the real event loop: every promise that can go on has gone on.
    await new Promise((resolve) => setImmediate(resolve));
    return true;
  }

  private push(one: Happening): void {
    const { heap } = this;
    let at = heap.length;
    heap.push(one);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (!above || isBefore(above, one)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = one;
  }

  private pop(): Happening | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (!first || !last || first === last) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left && right && isBefore(right, left)) child += 1;
      const below = heap[child];
      if (!below || isBefore(last, below)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

const isBefore = (a: Happening, b: Happening): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
