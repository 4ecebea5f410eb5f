import type { EntryId } from '../store/stream-store.js';
import type { Delivery } from './delivery.js';

/**
 * The deliveries that take a slot. An array, and each delivery knows its place: V8 links the table of a Map or a Set to the larger or smaller
 * one that follows it, so that one that changes with each message keeps thousands of them alive until a full collection.
 */
export class Slots {
  private readonly taken: Delivery[] = [];

  get size(): number {
    return this.taken.length;
  }

  take(delivery: Delivery): void {
    delivery.slot = this.taken.length;
    this.taken.push(delivery);
  }

  free(delivery: Delivery): void {
    const last = this.taken.pop();
    if (last === undefined || last === delivery) return;
    last.slot = delivery.slot;
    this.taken[last.slot] = last;
  }

  /** A copy: what is done to one may free others. */
  all(): readonly Delivery[] {
    return [...this.taken];
  }

  /** The entries that nobody has decided on. */
  undecided(): Set<EntryId> {
    const ids = new Set<EntryId>();
    for (const delivery of this.taken) if (delivery.verdict === null) ids.add(delivery.id);
    return ids;
  }
}
