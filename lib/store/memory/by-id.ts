import { compareIds } from '../entry-id.js';
import type { EntryId } from '../stream-store.js';
import { Sorted } from './sorted.js';

/** Items in the order of their entries' ids. */
export class ById<Item extends { readonly id: EntryId }> extends Sorted<Item, EntryId> {
  constructor() {
    super((item, id) => compareIds(item.id, id));
  }

  add(item: Item): void {
    this.put(item.id, item);
  }

  /** How many items come up to `id`, with it. */
  upTo(id: EntryId): number {
    return this.before(id) + (this.get(id) ? 1 : 0);
  }
}
