import { StoreError } from '../../rillkit.errors.js';
import type { Delivered } from '../stream-store.js';
import { readNew } from './entries.js';
import type { Keyspace } from './keyspace.js';

/** A blocked read. */
export interface Wait {
  readonly keys: readonly string[];
  readonly group: string;
  readonly worker: string;
  readonly count: number;
  answer(key: string, messages: readonly Delivered[]): void;
  refuse(error: StoreError): void;
}

/** Reads that wait for entries: who waits longest is served first, by one stream. */
export class Waits {
  private readonly waits = new Set<Wait>();

  add(wait: Wait): void {
    this.waits.add(wait);
  }

  delete(wait: Wait): void {
    this.waits.delete(wait);
  }

  /** Serves those who wait for what has grown; refuses those whose group is gone. */
  serve(data: Keyspace, nowMs: number): void {
    for (const key of data.takeGrown()) {
      for (const wait of this.waits) if (wait.keys.includes(key)) this.serveOne(wait, key, data, nowMs);
    }
  }

  /** Ends all of them. */
  drop(error: StoreError): void {
    for (const wait of this.waits) wait.refuse(error);
    this.waits.clear();
  }

  private serveOne(wait: Wait, key: string, data: Keyspace, nowMs: number): void {
    try {
      const messages = readNew(data.group(key, wait.group), wait.worker, wait.count, nowMs);
      if (messages.length === 0) return;
      this.waits.delete(wait);
      wait.answer(key, messages);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.waits.delete(wait);
      wait.refuse(error);
    }
  }
}
