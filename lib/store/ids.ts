import type { EntryId } from './stream-store.js';

/** Orders entry ids as Redis does: by time, then by sequence, both as numbers, which may be larger than a JavaScript number holds. */
export function compareIds(a: EntryId, b: EntryId): number {
  const dashA = a.indexOf('-');
  const dashB = b.indexOf('-');
  if (dashA !== dashB) return dashA - dashB;
  if (a.length === b.length) return a < b ? -1 : a > b ? 1 : 0;
  const timeA = a.slice(0, dashA);
  const timeB = b.slice(0, dashB);
  if (timeA !== timeB) return timeA < timeB ? -1 : 1;
  return a.length - b.length;
}
