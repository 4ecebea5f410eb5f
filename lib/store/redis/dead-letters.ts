import type { DeadLetterEntry, EntryId, StreamStore } from '../stream-store.js';
import type { Connection } from './connection.js';
import type { Keys } from './keys.js';
import { entriesOf, idOf, numberOf } from './replies.js';
import { replay } from './scripts/replay.js';

/** Messages that were given up. */
export class DeadLetters {
  constructor(
    private readonly commands: Connection,
    private readonly keys: Keys,
  ) {}

  async list(stream: string, { after, count }: Parameters<StreamStore['deadLetters']>[1]): Promise<readonly DeadLetterEntry[]> {
    const from = after === null ? '-' : `(${after}`;
    return entriesOf(await this.commands.call('XRANGE', this.keys.deadLetters(stream), from, '+', 'COUNT', count));
  }

  async get(stream: string, id: EntryId): Promise<DeadLetterEntry | null> {
    return entriesOf(await this.commands.call('XRANGE', this.keys.deadLetters(stream), id, id))[0] ?? null;
  }

  async count(stream: string): Promise<number> {
    return numberOf(await this.commands.call('XLEN', this.keys.deadLetters(stream)));
  }

  async remove(stream: string, ids: readonly EntryId[]): Promise<number> {
    return ids.length === 0 ? 0 : numberOf(await this.commands.call('XDEL', this.keys.deadLetters(stream), ...ids));
  }

  async replay(stream: string, deadLetter: EntryId): ReturnType<StreamStore['replay']> {
    const keys = [this.keys.stream(stream), this.keys.deadLetters(stream)];
    const reply = await this.commands.run(replay, keys, [deadLetter]);
    return reply === null ? { is: 'gone' } : { is: 'replayed', id: idOf(reply) };
  }
}
