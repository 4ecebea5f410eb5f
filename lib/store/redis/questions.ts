import type { EntryId, Located, Place, StreamStats } from '../stream-store.js';
import type { Argument, Connection } from './connection.js';
import { compareIds } from '../entry-id.js';
import type { Keys } from './keys.js';
import { idOf, infoOf, listOf, numberOf, numberOrNullOf, pendingSummaryOf, scoresOf, textOf, timeOf, type Reply } from './replies.js';
import { locate } from './scripts/locate.js';

/** The pseudo consumer that owns what is parked. */
const PARKED = '~parked';

/** What is asked of a stream and its group, for people, metrics and health. Changes nothing. */
export class Questions {
  constructor(
    private readonly commands: Connection,
    private readonly keys: Keys,
  ) {}

  async workers(place: Place): Promise<readonly string[]> {
    const [time, rows] = await Promise.all([
      this.commands.call('TIME'),
      this.commands.call('ZRANGEBYSCORE', this.keys.leases(place), 0, '+inf', 'WITHSCORES'),
    ]);
    const now = timeOf(time);
    const live = scoresOf(rows).filter(({ member, score }) => score >= now && !member.startsWith('~'));
    return live.map(({ member }) => member).toSorted();
  }

  /** Asked all at once, known each for itself. Rejects only where there is no connection to ask on. */
  async stats(place: Place): Promise<StreamStats> {
    const stream = this.keys.stream(place.stream);
    const parked = this.keys.parked(place);
    await this.commands.call('PING');
    const [time, isGone, length, groups, pending, rows, standing, deadLetters] = await Promise.all([
      this.ask(timeOf, 'TIME'),
      this.ask((exists) => exists === 0, 'EXISTS', stream),
      this.ask(numberOf, 'XLEN', stream),
      this.ask(listOf, 'XINFO', 'GROUPS', stream),
      this.ask(pendingSummaryOf, 'XPENDING', stream, place.group),
      this.ask(numberOf, 'ZCARD', parked),
      this.ask((score) => (score === null ? 0 : 1), 'ZSCORE', parked, '~'),
      this.ask(numberOf, 'XLEN', this.keys.deadLetters(place.stream)),
    ]);
    const group = groups?.map(infoOf).find((one) => textOf(one.get('name')) === place.group);
    // Of a stream that is not there XINFO and XPENDING answer an error, as they do to a user who may not ask: only there it means nothing.
    const nothing = isGone === true ? 0 : null;
    const first = pending?.first ?? null;
    return {
      length,
      undelivered: group ? numberOrNullOf(group.get('lag')) : nothing,
      pending: pending?.count ?? nothing,
      oldestPendingAgeMs: first !== null && time !== null ? Math.max(0, time - Number(first.slice(0, first.indexOf('-')))) : null,
      parked: rows === null || standing === null ? null : rows - standing,
      deadLetters,
    };
  }

  async locate(place: Place, id: EntryId): Promise<Located> {
    const keys = [this.keys.stream(place.stream), this.keys.parked(place)];
    const [is, ...rest] = listOf(await this.commands.run(locate, keys, [place.group, id]));
    if (textOf(is) === 'gone') return { is: 'gone' };
    if (textOf(is) === 'here') {
      const [last = null] = rest;
      return { is: last === null || compareIds(id, idOf(last)) > 0 ? 'waiting' : 'settled' };
    }
    const [worker, number, due] = rest;
    if (textOf(worker) !== PARKED) return { is: 'running', worker: textOf(worker), number: numberOf(number) };
    return { is: 'parked', number: numberOf(number), dueAtMs: numberOf(due) };
  }

  private async ask<T>(read: (reply: Reply) => T, command: string, ...args: Argument[]): Promise<T | null> {
    try {
      return read(await this.commands.call(command, ...args));
    } catch {
      return null;
    }
  }
}
