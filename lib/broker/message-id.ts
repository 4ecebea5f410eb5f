import { randomUUID } from 'node:crypto';

/** A new UUID of version 7: rises with time, so that it makes a good key in a database. `nowMs` is milliseconds since 1970. */
export function newMessageId(nowMs: number): string {
  // A version 4 has the same layout but for its first 48 bits and its version; Node makes those from a pool, which is cheap.
  const time = Math.floor(nowMs).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
