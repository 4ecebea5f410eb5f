/** Waiting until nothing is left of something that is counted elsewhere. */
export class Idle {
  private waiting: (() => void)[] = [];

  constructor(private readonly isIdle: () => boolean) {}

  /** Ends when nothing is left, or `signal` aborts. */
  until(signal: AbortSignal): Promise<void> {
    if (this.isIdle() || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** To be called whenever the count has fallen. */
  fell(): void {
    if (this.waiting.length === 0 || !this.isIdle()) return;
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}
