import { Keys } from '../redis/keys.js';
import type { Place } from '../stream-store.js';
import { noGroup, wrongType } from './faults.js';
import type { GroupData } from './group-data.js';
import { Rows } from './rows.js';
import { StreamData } from './stream-data.js';

export interface Found {
  readonly stream: StreamData;
  readonly group: GroupData;
}

/** All that is kept, key by key as on a single Redis server: streams, and sorted sets of leases and of parked messages. */
export class Keyspace {
  readonly keys = new Keys(false);
  private readonly values = new Map<string, StreamData | Rows>();
  /** Keys for people to look at, and when they end, milliseconds since 1970. */
  private readonly heartbeats = new Map<string, number>();
  /** Streams that have had entries added since somebody last asked. */
  private grown = new Set<string>();

  /** @throws StoreError where something else is kept there */
  stream(key: string): StreamData | undefined {
    const value = this.values.get(key);
    if (value instanceof Rows) throw wrongType();
    return value;
  }

  /** Made, where it is not there; as grown: who waits for entries is to look. */
  grow(key: string): StreamData {
    const stream = this.madeStream(key);
    this.grown.add(key);
    return stream;
  }

  madeStream(key: string): StreamData {
    const stream = this.stream(key) ?? new StreamData();
    this.values.set(key, stream);
    return stream;
  }

  streamOf({ stream }: Place): StreamData | undefined {
    return this.stream(this.keys.stream(stream));
  }

  /** @throws StoreError: there is no such stream, or no such group on it */
  groupOf(place: Place): Found {
    return this.group(this.keys.stream(place.stream), place.group);
  }

  group(key: string, name: string): Found {
    const stream = this.stream(key);
    const group = stream?.groups.get(name);
    if (!stream || !group) throw noGroup(key, name);
    return { stream, group };
  }

  leases(place: Place): Rows {
    return this.rows(this.keys.leases(place));
  }

  parked(place: Place): Rows {
    return this.rows(this.keys.parked(place));
  }

  /** Makes a group vanish, as `XGROUP DESTROY` does; who waits by it is to hear of it. */
  destroyGroup(place: Place): void {
    this.streamOf(place)?.groups.delete(place.group);
    this.grown.add(this.keys.stream(place.stream));
  }

  /** Forgets a key, as `DEL` does; who waits for its stream is to hear of it. */
  delete(key: string): void {
    if (this.values.delete(key)) this.grown.add(key);
  }

  clear(): void {
    for (const key of this.values.keys()) this.grown.add(key);
    this.values.clear();
    this.heartbeats.clear();
  }

  /** Writes a key that ends by itself; with `ttlMs` 0 deletes it. */
  heartbeat(key: string, ttlMs: number, nowMs: number): void {
    for (const [other, endsAtMs] of this.heartbeats) if (endsAtMs <= nowMs) this.heartbeats.delete(other);
    if (ttlMs > 0) this.heartbeats.set(key, nowMs + ttlMs);
    else this.heartbeats.delete(key);
  }

  heartbeatsAt(nowMs: number): readonly string[] {
    return [...this.heartbeats].filter(([, endsAtMs]) => endsAtMs > nowMs).map(([key]) => key);
  }

  takeGrown(): Iterable<string> {
    if (this.grown.size === 0) return [];
    const grown = this.grown;
    this.grown = new Set();
    return grown;
  }

  copy(): Keyspace {
    const copy = new Keyspace();
    for (const [key, value] of this.values) copy.values.set(key, value.copy());
    for (const [key, endsAtMs] of this.heartbeats) copy.heartbeats.set(key, endsAtMs);
    return copy;
  }

  private rows(key: string): Rows {
    const value = this.values.get(key) ?? new Rows();
    if (value instanceof StreamData) throw wrongType();
    this.values.set(key, value);
    return value;
  }
}
