import type { MemoryStore } from '../../lib/store/memory/memory-store.js';
import { compareIds } from '../../lib/store/entry-id.js';
import type { EntryId, Place } from '../../lib/store/stream-store.js';

const PARKED = '~parked';
const STANDING = new Set(['~beat', '~scan', '~pause', '~']);

interface Pending {
  readonly id: EntryId;
  readonly consumer: string;
  readonly number: number;
}

/** What must hold after every step, looked up in what the server keeps. */
export class Invariants {
  private numbers = new Map<EntryId, number>();

  constructor(
    private readonly memory: MemoryStore,
    private readonly place: Place,
  ) {}

  /** Redis has lost something: numbers may fall. */
  forget(): void {
    this.numbers = new Map();
  }

  pending(): Pending[] {
    return [...(this.group()?.pending ?? [])];
  }

  /** What is broken now, if anything is. */
  broken(): string | null {
    const rows = this.memory.server.data.parked(this.place);
    const numbers = new Map<EntryId, number>();
    for (const { id, consumer, number } of this.pending()) {
      const before = this.numbers.get(id) ?? 0;
      if (number < before) return `the number of ${id} fell from ${before} to ${number}`;
      numbers.set(id, number);
      if (consumer === PARKED && rows.score(id) === undefined) return `${id} is parked, but no row says until when`;
    }
    this.numbers = numbers;
    return null;
  }

  /** What is left when all is done and everybody has stopped. */
  left(foreigners: ReadonlySet<string>, redisLost: boolean): string | null {
    const pending = this.pending();
    if (pending.length > 0) return `still pending: ${pending.map(({ id, consumer }) => `${id} (${consumer})`).join(', ')}`;
    const parked = this.memory.server.data
      .parked(this.place)
      .all()
      .filter(({ name }) => !STANDING.has(name));
    if (parked.length > 0) return `rows without a message: ${parked.map(({ name }) => name).join(', ')}`;
    const leases = this.memory.server.data
      .leases(this.place)
      .all()
      .filter(({ name }) => !STANDING.has(name));
    if (leases.length > 0) return `leases that nobody ended: ${leases.map(({ name }) => name).join(', ')}`;
    // Where Redis lost a lease, its worker may have died before it knew: that is a consumer like any stranger's, whose name is left alone.
    if (redisLost) return null;
    const consumers = (this.group()?.holders() ?? []).filter(({ name }) => name !== PARKED && !foreigners.has(name));
    if (consumers.length > 0) return `consumers that nobody buried: ${consumers.map(({ name }) => name).join(', ')}`;
    return null;
  }

  undelivered(): number | null {
    const stream = this.memory.server.data.streamOf(this.place);
    const group = this.group();
    return stream && group ? [...stream.entries].filter(({ id }) => compareIds(id, group.lastId) > 0).length : (stream?.entries.size ?? 0);
  }

  private group() {
    return this.memory.server.data.streamOf(this.place)?.groups.get(this.place.group);
  }
}
