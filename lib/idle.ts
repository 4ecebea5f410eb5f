/** Waiting until nothing is left of something that is counted elsewhere. */
export class Idle {
  private readonly waiting = new Set<() => void>();

  constructor(private readonly isIdle: () => boolean) {}

  /** Ends when nothing is left, or `signal` aborts. */
  until(signal: AbortSignal): Promise<void> {
    if (this.isIdle() || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        signal.removeEventListener('abort', end);
        this.waiting.delete(end);
        resolve();
      };
      this.waiting.add(end);
      signal.addEventListener('abort', end, { once: true });
    });
  }

  /** To be called whenever the count has fallen. */
  fell(): void {
    if (this.waiting.size === 0 || !this.isIdle()) return;
    for (const end of this.waiting) end();
  }
}
