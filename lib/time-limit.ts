import type { Clock } from './clock.js';

/** Ends as `work` does, or rejects after `ms` milliseconds; what `work` does then is nobody's concern. */
export function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(`no answer within ${ms} ms`)));
    void work.then(resolve, reject).finally(cancel);
  });
}
