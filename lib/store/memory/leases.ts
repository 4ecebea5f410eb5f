import { isStoreFault } from '../../rillkit.errors.js';
import type { Beat, BeatRequest, EntryId, Place, Recovery, Scan, SignOff, StreamStore } from '../stream-store.js';
import type { GroupData } from './group-data.js';
import type { Keyspace } from './keyspace.js';
import { firstDueMs, park, parkAll, PARKED, spare, STANDING } from './parking.js';
import type { Rows } from './rows.js';

/** How many of the ended leases a beat names: all of one mass death, and the oldest, which wait to be buried. */
const MOST_SINCE = 1_000;
const MOST_OLDEST = 15;

const isWorker = (row: string): boolean => !row.startsWith('~');
const tagRow = (worker: string): string => `~@${worker}`;

/** Renews a worker's lease, and tells it what it should know. Touches neither the stream nor the group. */
export function beat(data: Keyspace, request: BeatRequest, nowMs: number): Beat {
  const { worker, tag, leaseMs, scanMs, since, takeOver } = request;
  const rows = data.leases(request);
  const before = rows.score(worker);
  forgive(rows, leaseMs, nowMs);

  const holder = rows.score(tagRow(worker));
  if (holder !== undefined && holder !== -tag) {
    const leaseLeftMs = (rows.score(worker) ?? nowMs) - nowMs;
    if (leaseLeftMs > 0 || !takeOver) {
      rows.set('~beat', nowMs);
      return { is: 'taken', leaseLeftMs };
    }
  }
  rows.set('~beat', nowMs);
  rows.set(tagRow(worker), -tag);
  rows.set(worker, nowMs + leaseMs);
  data.parked(request).add(STANDING, Infinity);

  const scanAtMs = rows.score('~scan');
  const elected = scanAtMs === undefined || nowMs >= scanAtMs || scanAtMs > nowMs + scanMs;
  if (elected) rows.set('~scan', nowMs + scanMs);

  const ended = (score: number): boolean => score < nowMs;
  const over = new Set([...rows.names(since ?? 0, ended, MOST_SINCE), ...rows.names(0, ended, MOST_OLDEST)]);
  return {
    is: 'beaten',
    atMs: nowMs,
    before: before === undefined ? 'none' : before > nowMs ? 'live' : 'over',
    firstDueMs: firstDueMs(data, request, nowMs, -Infinity),
    over: [...over].filter((row) => isWorker(row) && row !== worker),
    scan: elected,
    paused: rows.score('~pause') !== undefined,
  };
}

/** Where nobody has beaten for two thirds of a lease, or the clock went back, nobody is dead for having been silent: each lease runs one more at least. */
function forgive(rows: Rows, leaseMs: number, nowMs: number): void {
  const last = rows.score('~beat');
  if (last !== undefined && last <= nowMs && nowMs - last <= (leaseMs * 2) / 3) return;
  const backMs = last === undefined ? 0 : Math.max(0, last - nowMs);
  for (const { name, score } of rows.all()) if (isWorker(name)) rows.set(name, Math.max(score - backMs, nowMs + leaseMs));
}

/** Parks a dead worker's messages as due now, and buries it when its grave time is over. */
export function recover(
  data: Keyspace,
  place: Place,
  worker: string,
  { count, graveMs }: Parameters<StreamStore['recover']>[2],
  nowMs: number,
): Recovery {
  const rows = data.leases(place);
  const endedAtMs = rows.score(worker);
  if (endedAtMs === undefined || endedAtMs > nowMs) return { is: 'alive', parked: 0, lost: [] };
  const group = groupOrNull(data, place);
  if (!group) {
    rows.remove(worker, tagRow(worker));
    return { is: 'buried', parked: 0, lost: [] };
  }
  const ids = group.pageAt(worker, 0, count).map(({ id }) => id);
  const lost = parkAll(data, place, ids, nowMs);
  const parked = ids.length - lost.length;
  if (ids.length === count) return { is: 'more', parked, lost };
  if (nowMs - endedAtMs <= graveMs) return { is: 'parked', parked, lost };
  group.removeConsumer(worker);
  rows.remove(worker, tagRow(worker));
  return { is: 'buried', parked, lost };
}

/** Ends a worker of its own will: parks what it still holds as handed back, due now, then removes it. */
export function signOff(
  data: Keyspace,
  place: Place,
  worker: string,
  { tag, count, maxHandBacks, sure }: Parameters<StreamStore['signOff']>[2],
  nowMs: number,
): SignOff {
  const rows = data.leases(place);
  const holder = rows.score(tagRow(worker));
  if (tag !== undefined && holder !== undefined && holder !== -tag) return { is: 'left', parked: 0, lost: [] };
  const group = groupOrNull(data, place);
  if (!group) {
    rows.remove(worker, tagRow(worker));
    return { is: 'done', parked: 0, lost: [] };
  }
  const lost: EntryId[] = [];
  const page = group.pageAt(worker, 0, count);
  for (const { id, number } of page) if (!park(data, place, id, nowMs, nowMs, spare(number, maxHandBacks))) lost.push(id);
  const parked = page.length - lost.length;
  if (page.length === count) return { is: 'more', parked, lost };
  if (!sure) {
    rows.set(worker, nowMs - 1);
    return { is: 'left', parked, lost };
  }
  group.removeConsumer(worker);
  rows.remove(worker, tagRow(worker));
  return { is: 'done', parked, lost };
}

/** Looks for what no lease watches over, and for parked messages without a row. */
export function scan(data: Keyspace, place: Place, { claimIdleMs, count }: Parameters<StreamStore['scan']>[1], nowMs: number): Scan {
  if (!data.streamOf(place)) return { foreign: 0, repaired: 0, lost: [] };
  const { group } = data.groupOf(place);
  const leases = data.leases(place);
  const rows = data.parked(place);
  const holders = group.holders();
  const lost: EntryId[] = [];
  let foreign = 0;
  for (const { name, holds } of holders) {
    const room = count - foreign - lost.length;
    if (name === PARKED || holds === 0 || room <= 0 || leases.score(name) !== undefined) continue;
    const ids = group.idleOf(name, claimIdleMs, nowMs, room).map(({ id }) => id);
    const gone = parkAll(data, place, ids, nowMs);
    lost.push(...gone);
    foreign += ids.length - gone.length;
  }

  const owned = holders.find(({ name }) => name === PARKED)?.holds ?? 0;
  const standing = rows.score(STANDING) === undefined ? 0 : 1;
  const missing = Math.min(owned + foreign - (rows.size - standing), count);
  let repaired = 0;
  if (missing > 0) {
    // By whole pages, as the pending list is read: what a page shows is mended, so a few more than asked may be.
    for (let at = 0; repaired < missing; at += PAGE) {
      const page = group.pageAt(PARKED, at, PAGE);
      if (page.length === 0) break;
      for (const { id } of page) if (rows.add(id, nowMs)) repaired += 1;
    }
  }
  return { foreign, repaired, lost };
}

const PAGE = 200;

function groupOrNull(data: Keyspace, place: Place): GroupData | null {
  try {
    return data.groupOf(place).group;
  } catch (error) {
    if (isStoreFault(error, 'noGroup')) return null;
    throw error;
  }
}
