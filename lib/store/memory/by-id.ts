import { compareIds } from '../entry-id.js';
import type { EntryId } from '../stream-store.js';

/** Items in the order of their entries' ids. */
export class ById<Item extends { readonly id: EntryId }> {
  private items: Item[] = [];

  get size(): number {
    return this.items.length;
  }

  get first(): Item | undefined {
    return this.items[0];
  }

  get(id: EntryId): Item | undefined {
    const item = this.items[this.from(id)];
    return item?.id === id ? item : undefined;
  }

  /** Takes the place of what has the same id. */
  put(item: Item): void {
    const last = this.items.at(-1);
    if (!last || compareIds(last.id, item.id) < 0) return void this.items.push(item);
    const at = this.from(item.id);
    this.items.splice(at, this.items[at]?.id === item.id ? 1 : 0, item);
  }

  remove(id: EntryId): Item | undefined {
    const at = this.from(id);
    return this.items[at]?.id === id ? this.items.splice(at, 1)[0] : undefined;
  }

  dropFirst(count: number): void {
    this.items.splice(0, count);
  }

  /** Where the first item stands whose id is `id` or comes later. */
  from(id: EntryId): number {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const item = this.items[middle];
      if (item && compareIds(item.id, id) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Where the first item stands whose id comes later than `id`. */
  behind(id: EntryId): number {
    const at = this.from(id);
    return this.items[at]?.id === id ? at + 1 : at;
  }

  slice(at: number, count: number): Item[] {
    return this.items.slice(at, at + count);
  }

  [Symbol.iterator](): IterableIterator<Item> {
    return this.items[Symbol.iterator]();
  }
}
