import { isStoreFault, StoreError } from '../../rillkit.errors.js';
import type { Burial, Buried, EntryId, Place, Settled, Settlement } from '../stream-store.js';
import { copyOf } from './copy.js';
import type { GroupData } from './group-data.js';
import type { Keyspace } from './keyspace.js';
import { park, spare } from './parking.js';

const OK = { is: 'ok' } as const;
const FENCED = { is: 'fenced' } as const;
const LOST = { is: 'lost' } as const;

/** Ends deliveries, each for itself. As on Redis, first-delivery acks go before the rest: of two for one message, theirs holds. */
export function settle(
  data: Keyspace,
  place: Place,
  worker: string,
  maxHandBacks: number,
  settlements: readonly Settlement[],
  nowMs: number,
): readonly Settled[] {
  const answers: Settled[] = [];
  for (const first of [true, false]) {
    for (const [at, settlement] of settlements.entries()) {
      if (isFirst(settlement) === first) answers[at] = settleOne(data, place, worker, maxHandBacks, settlement, nowMs);
    }
  }
  return answers;
}

const isFirst = ({ op, number }: Settlement): boolean => op === 'ack' && number === 1;

function settleOne(data: Keyspace, place: Place, worker: string, maxHandBacks: number, settlement: Settlement, nowMs: number): Settled {
  const { id, number, op } = settlement;
  try {
    const group = fencedGroup(data, place, worker, id, number);
    if (!group) return FENCED;
    if (op === 'ack') {
      group.remove(id);
      return OK;
    }
    const newNumber = op === 'release' ? spare(number, maxHandBacks) : undefined;
    return park(data, place, id, nowMs + wholeMs(settlement.delayMs), nowMs, newNumber) ? OK : LOST;
  } catch (error) {
    if (error instanceof StoreError) return { is: 'refused', error };
    throw error;
  }
}

/** The group, while that delivery is still this worker's. */
function fencedGroup(data: Keyspace, place: Place, worker: string, id: EntryId, number: number): GroupData | null {
  try {
    const { group } = data.groupOf(place);
    return group.pendingOf(worker, id)?.number === number ? group : null;
  } catch (error) {
    if (isStoreFault(error, 'noGroup')) return null;
    throw error;
  }
}

/** Gives a message up: writes its dead letter, then acks it. */
export function bury(data: Keyspace, place: Place, worker: string, burial: Burial, nowMs: number): Buried {
  const { id, number, refused } = burial;
  try {
    const group = fencedGroup(data, place, worker, id, number);
    return group ? write(data, place, group, burial, nowMs) : FENCED;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // The message lets go of its slot, and is given up without running when it comes again.
    if (!fencedGroup(data, place, worker, id, number)) return FENCED;
    const newNumber = 1_000 * (Math.floor(number / 1_000) + 1) + refused.attempt;
    return park(data, place, id, nowMs + wholeMs(refused.delayMs), nowMs, newNumber) ? { is: 'refused', error } : LOST;
  }
}

function write(data: Keyspace, place: Place, group: GroupData, { id, entry, why, trim, maxAgeMs = 0 }: Burial, nowMs: number): Buried {
  const kept = data.streamOf(place)?.get(id)?.fields ?? entry;
  if (kept.length === 0) {
    // Trimmed, and never read: nothing is left to keep.
    group.remove(id);
    return LOST;
  }
  const added = [...why, ['rillkit:at', String(nowMs)] as const].map(([name, value]) => [name, Buffer.from(value)] as const);
  const letters = data.grow(data.keys.deadLetters(place.stream));
  letters.append([...copyOf(kept), ...added], nowMs, trim);
  group.remove(id);
  const ageMs = wholeMs(maxAgeMs);
  if (ageMs > 0 && nowMs >= ageMs) letters.trimBefore(`${nowMs - ageMs}-0`);
  return OK;
}

const wholeMs = (ms: number): number => Math.max(0, Math.ceil(ms));
