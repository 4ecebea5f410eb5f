import type { EntryId } from '../stream-store.js';
import { ById } from './by-id.js';
import { compareNames } from './rows.js';

/** One entry in a group's pending list. */
export interface Pending {
  readonly id: EntryId;
  consumer: string;
  /** How often it was delivered, as the server counts; see {@link StreamStore}'s numbers. */
  number: number;
  deliveredAtMs: number;
}

/** A consumer group: how far it was given the stream, and what it was given and has not acked. */
export class GroupData {
  readonly pending = new ById<Pending>();
  private readonly consumers = new Map<string, ById<Pending>>();

  constructor(
    public lastId: EntryId,
    /** How many entries it was given; `null` where that is not known. */
    public entriesRead: number | null,
  ) {}

  /** Gives an entry to a consumer for the first time. */
  deliver(id: EntryId, consumer: string, nowMs: number): void {
    this.remove(id);
    const pending = { id, consumer, number: 1, deliveredAtMs: nowMs };
    this.pending.add(pending);
    this.of(consumer).add(pending);
  }

  /** Makes another consumer the owner; `number` is set where it is given. */
  claim(pending: Pending, consumer: string, nowMs: number, number = pending.number): void {
    this.consumers.get(pending.consumer)?.remove(pending.id);
    pending.consumer = consumer;
    pending.number = number;
    pending.deliveredAtMs = nowMs;
    this.of(consumer).add(pending);
  }

  /** Answers whether it was pending. */
  remove(id: EntryId): boolean {
    const pending = this.pending.remove(id);
    if (!pending) return false;
    this.consumers.get(pending.consumer)?.remove(id);
    return true;
  }

  /** Removes a consumer with all that is pending for it. */
  removeConsumer(consumer: string): void {
    for (const { id } of this.consumers.get(consumer) ?? []) this.pending.remove(id);
    this.consumers.delete(consumer);
  }

  /** The entry, if it is pending for that consumer. */
  pendingOf(consumer: string, id: EntryId): Pending | undefined {
    const pending = this.pending.get(id);
    return pending?.consumer === consumer ? pending : undefined;
  }

  /** What is pending for a consumer, in order, from the `at`-th on. */
  pageAt(consumer: string, at: number, count: number): Pending[] {
    return this.consumers.get(consumer)?.slice(at, count) ?? [];
  }

  pageBehind(consumer: string, id: EntryId, count: number): Pending[] {
    const own = this.consumers.get(consumer);
    return own?.slice(own.upTo(id), count) ?? [];
  }

  /** What is pending for a consumer and was delivered `idleMs` ago or longer. */
  idleOf(consumer: string, idleMs: number, nowMs: number, count: number): Pending[] {
    const found: Pending[] = [];
    for (const pending of this.consumers.get(consumer) ?? []) {
      if (found.length === count) break;
      if (nowMs - pending.deliveredAtMs >= idleMs) found.push(pending);
    }
    return found;
  }

  /** Consumers and how much each holds, in the order of their names' bytes. */
  holders(): { readonly name: string; readonly holds: number }[] {
    return [...this.consumers].map(([name, own]) => ({ name, holds: own.size })).toSorted((a, b) => compareNames(a.name, b.name));
  }

  copy(): GroupData {
    const copy = new GroupData(this.lastId, this.entriesRead);
    for (const [consumer, own] of this.consumers) {
      const theirs = copy.of(consumer);
      for (const pending of own) theirs.add({ ...pending });
      for (const pending of theirs) copy.pending.add(pending);
    }
    return copy;
  }

  private of(consumer: string): ById<Pending> {
    const own = this.consumers.get(consumer) ?? new ById<Pending>();
    this.consumers.set(consumer, own);
    return own;
  }
}
