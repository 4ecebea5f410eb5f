import type { SubscriptionStatus } from '../consumer/subscription.js';
import type { ResolvedOptions } from '../rillkit.options.js';

/** How much longer than its longest block a read may take before it counts as stuck, milliseconds. */
const READ_MARGIN_MS = 2_000;

/** Why a subscription is not ready, in a sentence; `null` when it is. */
export function faultOf(status: SubscriptionStatus, options: Pick<ResolvedOptions, 'blockMs'>): string | null {
  const at = `{${status.stream} → ${status.group}}`;
  if (status.lease !== 'held') return `${at} has ${status.lease === 'lost' ? 'lost its lease' : 'no lease yet'}`;
  if (status.lastReadAgoMs === null) return `${at} has not read yet`;
  if (status.failures > 0) return `${at} cannot read, ${status.failures} failures in a row`;
  // With handlers running there may be no free slot to read for; that is load, and no fault.
  if (status.running === 0 && status.lastReadAgoMs > options.blockMs + READ_MARGIN_MS)
    return `${at} has not read for ${Math.round(status.lastReadAgoMs)} ms`;
  return null;
}
