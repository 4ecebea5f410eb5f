/** The most items of one chunk: bounds what is moved when one comes or goes. */
const CHUNK = 512;

/** Items in order, each with a key of its own; made for many of them, that come and go anywhere. */
export class Sorted<Item, Key> {
  /** None of them is empty. */
  private readonly chunks: Item[][] = [];
  private count = 0;

  /** `compare`: below 0 where the item comes before the key, 0 where the key is its own. */
  constructor(private readonly compare: (item: Item, key: Key) => number) {}

  get size(): number {
    return this.count;
  }

  get first(): Item | undefined {
    return this.chunks[0]?.[0];
  }

  get(key: Key): Item | undefined {
    const { chunk, at } = this.placeOf(key);
    const item = this.chunks[chunk]?.[at];
    return item !== undefined && this.compare(item, key) === 0 ? item : undefined;
  }

  /** Takes the place of what has the same key. */
  put(key: Key, item: Item): void {
    const place = this.placeOf(key);
    const isLast = place.chunk === this.chunks.length;
    const chunk = isLast ? this.lastWithRoom() : this.chunks[place.chunk];
    if (!chunk) return;
    const at = isLast ? chunk.length : place.at;
    const there = chunk[at];
    const isSame = there !== undefined && this.compare(there, key) === 0;
    chunk.splice(at, isSame ? 1 : 0, item);
    if (!isSame) this.count += 1;
    if (chunk.length > CHUNK) this.chunks.splice(place.chunk + 1, 0, chunk.splice(CHUNK / 2));
  }

  remove(key: Key): Item | undefined {
    const item = this.get(key);
    if (item === undefined) return undefined;
    const place = this.placeOf(key);
    const chunk = this.chunks[place.chunk];
    chunk?.splice(place.at, 1);
    if (chunk?.length === 0) this.chunks.splice(place.chunk, 1);
    this.count -= 1;
    return item;
  }

  dropFirst(count: number): void {
    for (let left = Math.min(count, this.count); left > 0;) {
      const dropped = this.chunks[0]?.splice(0, left).length ?? 0;
      if (this.chunks[0]?.length === 0) this.chunks.shift();
      this.count -= dropped;
      left -= dropped;
    }
  }

  /** How many items come before the key. */
  before(key: Key): number {
    const { chunk, at } = this.placeOf(key);
    return this.chunks.slice(0, chunk).reduce((sum, { length }) => sum + length, at);
  }

  slice(from: number, count: number): Item[] {
    const found: Item[] = [];
    let skip = from;
    for (const chunk of this.chunks) {
      if (found.length >= count) break;
      if (skip < chunk.length) found.push(...chunk.slice(skip, skip + count - found.length));
      skip = Math.max(0, skip - chunk.length);
    }
    return found;
  }

  *[Symbol.iterator](): IterableIterator<Item> {
    for (const chunk of this.chunks) yield* chunk;
  }

  /** Where the first item stands that does not come before the key: behind all chunks, where there is none. */
  private placeOf(key: Key): { readonly chunk: number; readonly at: number } {
    const isBefore = (item: Item | undefined): boolean => item !== undefined && this.compare(item, key) < 0;
    const chunk = partition(this.chunks.length, (i) => isBefore(this.chunks[i]?.at(-1)));
    const items = this.chunks[chunk];
    return { chunk, at: items ? partition(items.length, (i) => isBefore(items[i])) : 0 };
  }

  /** Items mostly come at the end: a full chunk is left as it is then. */
  private lastWithRoom(): Item[] {
    const last = this.chunks.at(-1);
    if (last && last.length < CHUNK) return last;
    const chunk: Item[] = [];
    this.chunks.push(chunk);
    return chunk;
  }
}

/** How many of the first `length` numbers pass a test that all pass up to some point, and none behind it. */
function partition(length: number, passes: (i: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (passes(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
