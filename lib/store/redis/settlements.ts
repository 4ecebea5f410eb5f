import { isStoreFault, type StoreError } from '../../rillkit.errors.js';
import type { Burial, Buried, EntryId, Place, Settled, Settlement } from '../stream-store.js';
import type { Argument, Connection } from './connection.js';
import { compareIds } from '../entry-id.js';
import { partsOf, trimOf } from './entries.js';
import { isTooWide, repliedError } from './errors.js';
import type { Keys } from './keys.js';
import { idOf, listOf, pendingOf, textOf, timeOf, type Reply } from './replies.js';
import { bury } from './scripts/bury.js';
import { settle } from './scripts/settle.js';

const OK: Settled = { is: 'ok' };
const FENCED: Settled = { is: 'fenced' };
const LOST: Settled = { is: 'lost' };

/** Ends deliveries. */
export class Settlements {
  constructor(
    private readonly commands: Connection,
    private readonly keys: Keys,
  ) {}

  async settle(place: Place, worker: string, maxHandBacks: number, settlements: readonly Settlement[]): Promise<readonly Settled[]> {
    if (settlements.length === 0) return [];
    const firsts: number[] = [];
    const others: number[] = [];
    settlements.forEach(({ op, number }, i) => (op === 'ack' && number === 1 ? firsts : others).push(i));
    const idAt = (i: number): string => settlements[i]?.id ?? '';
    // As numbers: as text, …-10 comes before …-9, and the range would not hold them all.
    firsts.sort((a, b) => compareIds(idAt(a), idAt(b)));

    const args: Argument[] = [place.group, worker, firsts.length, ...firsts.map(idAt)];
    for (const i of others) {
      const one = settlements[i];
      if (one) args.push(one.id, one.number, one.op, one.op === 'ack' ? 0 : wholeMs(one.delayMs), maxHandBacks);
    }
    const reply = await this.commands.run(settle, this.settled(place), args);
    if (reply === 0) return settlements.map(() => OK);
    const answers = listOf(reply);
    const order = [...firsts, ...others];
    const settled: Settled[] = [];
    order.forEach((i, at) => (settled[i] = settledOf(answers[at])));
    return settled;
  }

  async bury(place: Place, worker: string, burial: Burial): Promise<Buried> {
    try {
      const answer = await this.tryToBury(place, worker, burial);
      return answer.is === 'refused' ? await this.park(place, worker, burial, answer.error) : answer;
    } catch (error) {
      if (isTooWide(error)) return this.buryByHand(place, worker, burial);
      // What the server refuses as a whole, while it would still park.
      if (isStoreFault(error, 'outOfMemory', 'wrongType', 'refused')) return this.park(place, worker, burial, error);
      throw error;
    }
  }

  private async tryToBury(place: Place, worker: string, burial: Burial): Promise<Settled> {
    const { id, number, trim, maxAgeMs, why } = burial;
    const args: Argument[] = [place.group, worker, id, number, trim?.maxLen ?? 0, trim?.approximate === false ? '=' : '~'];
    args.push(wholeMs(maxAgeMs ?? 0), why.length * 2, ...why.flat());
    const keys = [this.keys.stream(place.stream), this.keys.deadLetters(place.stream)];
    const reply = textOf(await this.commands.run(bury, keys, args));
    if (reply !== 'copy') return settledOf(reply);
    if (burial.entry.length > 0) return settledOf(await this.commands.run(bury, keys, [...args, ...partsOf(burial.entry)]));
    // Trimmed, and never read: nothing is left to keep.
    const [acked = FENCED] = await this.settle(place, worker, 0, [{ id, number, op: 'ack' }]);
    return acked.is === 'ok' ? LOST : acked;
  }

  /**
   * Buries what has more fields than a script can write: the dead letter first, then the ack, each by itself. Cut off in between, the message
   * is given up again: two dead letters rather than none.
   */
  private async buryByHand(place: Place, worker: string, burial: Burial): Promise<Buried> {
    const { id, number, trim, maxAgeMs, why, entry } = burial;
    const [stream, letters] = [this.keys.stream(place.stream), this.keys.deadLetters(place.stream)];
    try {
      const [pending] = pendingOf(await this.commands.call('XPENDING', stream, place.group, id, id, 1, worker));
      if (pending?.number !== number) return FENCED;
    } catch (error) {
      if (isStoreFault(error, 'noGroup')) return FENCED;
      throw error;
    }
    const now = timeOf(await this.commands.call('TIME'));
    const fields = [...partsOf(entry), ...why.flat(), 'rillkit:at', now];
    let letter: EntryId;
    try {
      letter = idOf(await this.commands.call('XADD', letters, ...trimOf(trim), '*', ...fields));
    } catch (error) {
      if (isStoreFault(error, 'outOfMemory', 'wrongType', 'refused')) return this.park(place, worker, burial, error);
      throw error;
    }
    const [acked = FENCED] = await this.settle(place, worker, 0, [{ id, number, op: 'ack' }]);
    if (acked.is === 'refused') throw acked.error;
    // Another's by now, who gives it up or handles it by himself.
    if (acked.is === 'fenced') await this.commands.call('XDEL', letters, letter);
    if (acked.is === 'ok' && maxAgeMs !== undefined) await this.commands.call('XTRIM', letters, 'MINID', '=', now - maxAgeMs);
    return acked;
  }

  /** So that the message lets go of its slot, and is given up without running when it comes again. */
  private async park(place: Place, worker: string, { id, number, refused }: Burial, error: StoreError): Promise<Buried> {
    const args = [place.group, worker, 0, id, number, 'refused', wholeMs(refused.delayMs), refused.attempt];
    const reply = await this.commands.run(settle, this.settled(place), args);
    const parked = reply === 0 ? OK : settledOf(listOf(reply)[0]);
    return parked.is === 'ok' ? { is: 'refused', error } : parked;
  }

  private settled(place: Place): readonly string[] {
    return [this.keys.stream(place.stream), this.keys.parked(place)];
  }
}

function settledOf(reply: Reply): Settled {
  const text = textOf(reply);
  switch (text) {
    case 'ok':
      return OK;
    case 'fenced':
      return FENCED;
    case 'lost':
      return LOST;
    default:
      return { is: 'refused', error: repliedError(text) };
  }
}

const wholeMs = (ms: number): number => Math.max(0, Math.ceil(ms));
