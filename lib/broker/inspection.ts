import { attemptOf, handBacksOf, timeOf } from '../handlers/message.js';
import type { EntryId, Located, Place, StreamStore } from '../store/stream-store.js';
import type { DeadLetter } from './dead-letter.js';
import type { DeadLetters } from './dead-letters.js';

/** Where a message is, as one group sees it. */
export type Inspection =
  /** The group has not been given it yet. */
  | { readonly is: 'waiting' }
  /** A worker has it: its handler runs, or it is about to. */
  | { readonly is: 'running'; readonly worker: string; readonly attempt: number; readonly deliveries: number }
  /** It waits for its next attempt; `attempt` is the last one. */
  | { readonly is: 'parked'; readonly until: Date; readonly attempt: number; readonly deliveries: number }
  /** It was given up. */
  | { readonly is: 'dead'; readonly deadLetter: DeadLetter }
  /** It has ended: acked, or given up and its dead letter is not there any more (or further back than is looked). */
  | { readonly is: 'settled' }
  /** It is not in the stream any more, or never was, and not among the dead letters. */
  | { readonly is: 'gone' };

/** How many dead letters are looked through, from the time of the message on. */
const MAX_SEARCHED = 1_000;
const PAGE = 100;

export async function inspect(store: Pick<StreamStore, 'locate'>, desk: DeadLetters, place: Place, id: EntryId): Promise<Inspection> {
  const located = await store.locate(place, id);
  if (located.is !== 'settled' && located.is !== 'gone') return unsettled(located);
  return (await findDead(desk, place.group, id)) ?? located;
}

function unsettled(located: Exclude<Located, { readonly is: 'settled' | 'gone' }>): Inspection {
  if (located.is === 'waiting') return located;
  const attempt = attemptOf(located.number);
  const deliveries = attempt + handBacksOf(located.number);
  if (located.is === 'running') return { is: 'running', worker: located.worker, attempt, deliveries };
  return { is: 'parked', until: new Date(located.dueAtMs), attempt, deliveries };
}

/** A message is given up after it was published, by the same clock: older dead letters need no look. */
async function findDead(desk: DeadLetters, group: string, id: EntryId): Promise<Inspection | null> {
  let after = behindEarlierThan(timeOf(id));
  for (let searched = 0; searched < MAX_SEARCHED; searched += PAGE) {
    const page = await desk.list({ after, limit: PAGE });
    const deadLetter = page.find((letter) => letter.entry === id && letter.group === group);
    if (deadLetter !== undefined) return { is: 'dead', deadLetter };
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return null;
    after = last.id;
  }
  return null;
}

const behindEarlierThan = (ms: number): EntryId | undefined => (ms > 0 ? `${ms - 1}-18446744073709551615` : undefined);
