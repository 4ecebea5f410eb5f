import type { DeadLetterEntry, EntryId, Fields, StreamStore } from '../stream-store.js';
import type { Connection } from './connection.js';
import { partsOf } from './entries.js';
import { isTooWide } from './errors.js';
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
    try {
      const reply = await this.commands.run(replay, keys, [deadLetter]);
      return reply === null ? { is: 'gone' } : { is: 'replayed', id: idOf(reply) };
    } catch (error) {
      if (isTooWide(error)) return this.replayByHand(stream, deadLetter);
      throw error;
    }
  }

  /**
   * As the script, for what has more fields than a script can write. Cut off between its two steps, or beside another replay, the message is
   * in its stream twice, with one `messageId`, rather than nowhere.
   */
  private async replayByHand(stream: string, deadLetter: EntryId): ReturnType<StreamStore['replay']> {
    const letter = await this.get(stream, deadLetter);
    if (!letter) return { is: 'gone' };
    const id = idOf(await this.commands.call('XADD', this.keys.stream(stream), '*', ...partsOf(replayed(letter.fields))));
    await this.remove(stream, [deadLetter]);
    return { is: 'replayed', id };
  }
}

/** The entry's own fields, and what the library keeps over a replay; see the script. */
function replayed(fields: Fields): Fields {
  const valueOf = (name: string): Buffer | undefined => fields.find(([other]) => other === name)?.[1];
  const own = fields.filter(([name]) => !name.startsWith('rillkit:'));
  const kept: [string, Buffer][] = [];
  const group = valueOf('rillkit:group');
  if (group) kept.push(['rillkit:for', group]);
  const messageId = valueOf('rillkit:messageId') ?? valueOf('rillkit:entry');
  if (messageId && valueOf('messageId') === undefined) kept.push(['rillkit:messageId', messageId]);
  return [...own, ...kept];
}
