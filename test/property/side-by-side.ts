import assert from 'node:assert/strict';
import { StoreError } from '../../lib/rillkit.errors.js';
import type { Burial, Delivered, Fields, Place, Settlement, StreamStore } from '../../lib/store/stream-store.js';
import type { OpenedStore } from '../support/redis-store.js';
import { FAR_MS, type Group, type Item, type Operation, type Twist, type Worker } from './operations.js';
import { memorySide, redisSide, type Side } from './side.js';

const GROUPS = ['g', 'h'] as const;
const LEASE_MS = 60_000;
/** Behind every entry that is and will be. */
const AHEAD = '18446744073709551615-5';

/** How often each kind of outcome was seen: that a property held says nothing of what never came about. */
export type Tally = Map<string, number>;

/** Drives Redis and memory through one sequence, and compares each outcome, and what is kept at the end. */
export async function runSideBySide(
  opened: Pick<OpenedStore, 'store' | 'redis'>,
  stream: string,
  operations: readonly Operation[],
  tally: Tally = new Map(),
): Promise<void> {
  const run = new SideBySide(opened, stream, tally);
  for (const operation of operations) await run.step(operation);
  await run.compareKept();
  await run.forget();
}

interface Held extends Delivered {
  readonly group: Group;
  readonly worker: Worker;
}

type Act = (side: Side) => Promise<unknown>;

class SideBySide {
  private readonly redis: Side;
  private readonly memory = memorySide();
  private nowMs = 0;
  private readonly ids: string[] = [];
  private readonly held: Held[] = [];
  private readonly letters: string[] = [];
  private bodies = 0;

  constructor(
    private readonly opened: Pick<OpenedStore, 'store' | 'redis'>,
    private readonly stream: string,
    private readonly tally: Tally,
  ) {
    this.redis = redisSide(opened);
  }

  /** Redis first: memory is given the very time that Redis did it at, so that ids and due times are the same to the letter. */
  async step(operation: Operation): Promise<void> {
    const act = this.actOf(operation);
    const [before, onRedis] = await Promise.all([this.time(), outcomeOf(act, this.redis)]);
    const after = await this.time();
    this.nowMs = before === after ? before : await this.timeBetween(before, after, operation);
    this.memory.setTime(this.nowMs);
    const onMemory = await outcomeOf(act, this.memory);
    compare(onMemory, onRedis, after - before, JSON.stringify(operation));
    for (const kind of kindsOf(operation, onRedis)) this.tally.set(kind, (this.tally.get(kind) ?? 0) + 1);
    await this.learn(operation, onRedis);
  }

  async compareKept(): Promise<void> {
    for (const group of GROUPS) {
      const place = this.place(group);
      compare(await this.memory.kept(place), await this.redis.kept(place), 0, `what is kept of ${group}`);
    }
    const stats = async (side: Side) => Promise.all(GROUPS.map((group) => side.store.stats(this.place(group))));
    const before = await this.time();
    this.memory.setTime(before);
    const onRedis = await stats(this.redis);
    compare(await stats(this.memory), onRedis, (await this.time()) - before, 'the figures in the end');
  }

  async forget(): Promise<void> {
    const { redis, store } = this.opened;
    const places = GROUPS.map((group) => this.place(group));
    const kept = places.flatMap((place) => [store.keys.leases(place), store.keys.parked(place)]);
    await redis.del(store.keys.stream(this.stream), store.keys.deadLetters(this.stream), ...kept);
  }

  private async time(): Promise<number> {
    const [seconds, micros] = await this.opened.store.client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  /** The clock moved on meanwhile: what was written tells when. Nothing that is kept was there before `before`, so the latest fits. */
  private async timeBetween(before: number, after: number, operation: Operation): Promise<number> {
    const kept = await Promise.all(GROUPS.map((group) => this.redis.kept(this.place(group))));
    const seen = new Set(
      kept.flatMap(({ leases, parked, entries, deadLetters }) => [
        ...[...leases, ...parked].flatMap(([, atMs]) => [atMs, atMs - LEASE_MS, atMs - FAR_MS]),
        ...[...entries, ...deadLetters].map((id) => Number(id.split('-')[0])),
        // Who leaves unsure has a lease that has just ended.
        ...leases.flatMap(([row, atMs]) => (operation.do === 'signOff' && operation.worker === row ? [atMs + 1] : [])),
      ]),
    );
    for (let at = after; at > before; at -= 1) if (seen.has(at)) return at;
    return before;
  }

  private actOf(op: Operation): Act {
    const { stream } = this;
    switch (op.do) {
      case 'append': {
        this.bodies += 1;
        const fields: Fields = [
          ['body', Buffer.from(String(this.bodies))],
          ...(op.named ? [['messageId', Buffer.from(`m${this.bodies}`)] as const] : []),
        ];
        const trim = op.trim === 'none' ? undefined : trimOf(op.trim);
        return ({ store }) => store.append(stream, fields, { trim, waitMs: 10_000 });
      }
      case 'ensureGroup': {
        const from = op.from === 'ahead' ? { after: AHEAD } : typeof op.from === 'string' ? op.from : { after: this.id(op.from) };
        return ({ store }) => store.ensureGroup(this.place(op.group), from);
      }
      case 'hasEntry':
        return ({ store }) => store.hasEntry(stream, this.id(op.entry));
      case 'read':
      case 'take':
        return ({ store }) => store[op.do](this.place(op.group), op.worker, op.count);
      case 'settle':
        return this.settlement(op);
      case 'bury':
        return this.burial(op);
      case 'pendingOf': {
        const after = op.after === null ? null : this.id(op.after);
        return ({ store }) => store.pendingOf(this.place(op.group), op.worker, after, op.count);
      }
      case 'beat': {
        const since = op.since ? this.nowMs - 10_000 : null;
        const { worker, tag, takeOver } = op;
        return ({ store }) => store.beat([{ ...this.place(op.group), worker, tag, takeOver, since, leaseMs: LEASE_MS, scanMs: LEASE_MS }]);
      }
      case 'heartbeat':
        return ({ store }) => store.heartbeat([{ ...this.place('g'), worker: op.worker }], op.ttlMs);
      case 'recover':
        return ({ store }) => store.recover(this.place(op.group), op.worker, { count: op.count, graveMs: op.graveMs });
      case 'signOff': {
        const { count, maxHandBacks, sure, tag } = op;
        return ({ store }) => store.signOff(this.place(op.group), op.worker, { count, maxHandBacks, sure, tag: tag ?? undefined });
      }
      case 'scan':
        return ({ store }) => store.scan(this.place(op.group), { claimIdleMs: op.claimIdleMs, count: op.count });
      case 'workers':
      case 'stats':
        return ({ store }) => store[op.do](this.place(op.group));
      case 'locate':
        return ({ store }) => store.locate(this.place(op.group), this.id(op.entry));
      case 'deadLetters':
        return ({ store }) => store.deadLetters(stream, { after: op.after === null ? null : this.letter(op.after), count: op.count });
      case 'deadLetter':
      case 'replay':
        return ({ store }) => store[op.do](stream, this.letter(op.letter));
      case 'removeDeadLetters':
        return ({ store }) =>
          store.removeDeadLetters(
            stream,
            op.letters.map((at) => this.letter(at)),
          );
      case 'countDeadLetters':
        return ({ store }) => store.countDeadLetters(stream);
      case 'deleteEntries':
        return (side) =>
          side.deleteEntries(
            stream,
            op.entries.map((at) => this.id(at)),
          );
      case 'dropGroup':
        return (side) => side.dropGroup(this.place(op.group));
      case 'dropStream':
        return (side) => side.dropStream(stream);
      case 'setLease': {
        const atMs = this.nowMs + op.inMs;
        return (side) => side.setLease(this.place(op.group), op.row, atMs);
      }
      case 'addRow': {
        const atMs = this.nowMs + op.inMs;
        return (side) => side.addRow(this.place(op.group), this.id(op.entry), atMs);
      }
      case 'dropRow':
        return (side) => side.dropRow(this.place(op.group), this.id(op.entry));
      case 'claim':
        return (side) => side.claim(this.place(op.group), this.id(op.entry), op.worker);
    }
  }

  /** By the owner: of what that worker was given; else of anything. */
  private settlement({ group, worker, maxHandBacks, items }: Extract<Operation, { do: 'settle' }>): Act {
    const lead = worker === 'owner' ? this.fence(items[0]?.delivery ?? 0, 'none') : { group, worker };
    const held = worker === 'owner' ? this.held.filter((one) => one.group === lead.group && one.worker === lead.worker) : this.held;
    const settlements = items.map((item) => settlementOf(item, fenceOf(held, item.delivery, item.twist)));
    return ({ store }) => store.settle(this.place(lead.group), lead.worker, maxHandBacks, settlements);
  }

  private burial({ delivery, twist, copy, trim, ages }: Extract<Operation, { do: 'bury' }>): Act {
    const { id, number, fields, group, worker } = this.fence(delivery, twist);
    const burial: Burial = {
      id,
      number,
      entry: copy ? fields : [],
      why: [
        ['rillkit:entry', id],
        ['rillkit:group', group],
      ],
      trim: trim === 'none' ? undefined : trimOf(trim),
      maxAgeMs: ages ? FAR_MS : undefined,
      refused: { delayMs: 0, attempt: 4 },
    };
    return ({ store }) => store.bury(this.place(group), worker, burial);
  }

  private async learn(operation: Operation, outcome: unknown): Promise<void> {
    if (operation.do === 'append' && typeof outcome === 'string') this.ids.push(outcome);
    if (operation.do === 'replay') this.learnReplayed(outcome);
    if (operation.do === 'read' && isDeliveries(outcome)) this.hold(operation, outcome);
    if (operation.do === 'take' && isTaken(outcome)) this.hold(operation, outcome.messages);
    if (operation.do === 'bury') {
      const letters = await this.redis.store.deadLetters(this.stream, { after: this.letters.at(-1) ?? null, count: 100 });
      this.letters.push(...letters.map(({ id }) => id));
    }
  }

  private learnReplayed(outcome: unknown): void {
    if (typeof outcome === 'object' && outcome !== null && 'id' in outcome && typeof outcome.id === 'string') this.ids.push(outcome.id);
  }

  private hold({ group, worker }: { readonly group: Group; readonly worker: Worker }, messages: readonly Delivered[]): void {
    for (const message of messages) this.held.push({ ...message, group, worker });
  }

  private fence(at: number, twist: Twist): Held {
    return fenceOf(this.held, at, twist);
  }

  private id(at: number): string {
    return fromLast(this.ids, at) ?? '1-1';
  }

  private letter(at: number): string {
    return fromLast(this.letters, at) ?? '1-1';
  }

  private place(group: Group): Place {
    return { stream: this.stream, group };
  }
}

const trimOf = (trim: 'approximate' | number) =>
  trim === 'approximate' ? { maxLen: 1, approximate: true } : { maxLen: trim, approximate: false };

const fromLast = <T>(list: readonly T[], at: number): T | undefined => list.at(-1 - (at % Math.max(1, list.length)));

function fenceOf(list: readonly Held[], at: number, twist: Twist): Held {
  const held = fromLast(list, at);
  if (!held) return { id: '1-1', number: 1, fields: [['body', Buffer.from('?')]], group: 'g', worker: 'w1' };
  switch (twist) {
    case 'none':
      return held;
    case 'worker':
      return { ...held, worker: held.worker === 'w1' ? 'w2' : 'w1' };
    case 'number':
      return { ...held, number: held.number + 1 };
    case 'unknown':
      return { ...held, id: '1-1' };
  }
}

const settlementOf = ({ op, delayMs }: Item, { id, number }: Held): Settlement =>
  op === 'ack' ? { id, number, op } : { id, number, op, delayMs };

/** The words and the fullness of an outcome. */
function kindsOf(operation: Operation, outcome: unknown): string[] {
  if (operation.do === 'settle' && Array.isArray(outcome)) return outcome.map((one, i) => `${operation.items[i]?.op}: ${wordOf(one)}`);
  return [`${operation.do}: ${wordOf(Array.isArray(outcome) && operation.do === 'beat' ? outcome[0] : outcome)}`];
}

function wordOf(outcome: unknown): string {
  if (outcome instanceof StoreError) return outcome.fault;
  if (isTaken(outcome)) return `${outcome.messages.length > 0 ? 'some' : 'none'}${outcome.lost.length > 0 ? ', lost' : ''}`;
  if (Array.isArray(outcome)) return outcome.length > 0 ? 'some' : 'none';
  if (typeof outcome !== 'object' || outcome === null) return typeof outcome === 'string' && outcome.includes('-') ? 'id' : String(outcome);
  const parts = Object.entries(outcome).flatMap(([name, value]) => {
    if (name === 'is') return [String(value)];
    if (['foreign', 'repaired', 'parked', 'undelivered'].includes(name))
      return [`${name} ${value === null ? '?' : value === 0 ? 0 : 'some'}`];
    if (name === 'before' || name === 'scan') return [`${name} ${String(value)}`];
    if ((name === 'lost' || name === 'over') && Array.isArray(value) && value.length > 0) return [name];
    return [];
  });
  return parts.join(', ');
}

async function outcomeOf(act: Act, side: Side): Promise<unknown> {
  try {
    return await act(side);
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
}

const isDelivery = (value: unknown): value is Delivered =>
  typeof value === 'object' && value !== null && 'id' in value && 'fields' in value;
const isDeliveries = (value: unknown): value is readonly Delivered[] => Array.isArray(value) && value.every(isDelivery);
const isTaken = (value: unknown): value is Awaited<ReturnType<StreamStore['take']>> =>
  typeof value === 'object' && value !== null && 'messages' in value;

/** Without what may differ: the words of errors, and the time that a dead letter names beside its id. */
function plain(value: unknown): unknown {
  if (value instanceof StoreError) return { fault: value.fault, applied: value.applied };
  if (Buffer.isBuffer(value)) return value.toString('latin1');
  if (Array.isArray(value)) return value[0] === 'rillkit:at' ? ['rillkit:at', Number(plain(value[1])) > 0] : value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}

function compare(onMemory: unknown, onRedis: unknown, roomMs: number, what: string): void {
  const expected = plain(onRedis);
  const actual = near(plain(onMemory), expected, roomMs);
  assert.deepEqual(actual, expected, `${what}: memory ${JSON.stringify(actual)}, Redis ${JSON.stringify(expected)}`);
}

/** Figures that count from the clock are as good as the other's when they are within `roomMs` of it. */
function near(value: unknown, other: unknown, roomMs: number, name = ''): unknown {
  if (typeof value === 'number' && typeof other === 'number') {
    return COUNTED.has(name) && Math.abs(value - other) <= roomMs ? other : value;
  }
  if (Array.isArray(value)) return value.map((one, i) => near(one, Array.isArray(other) ? other[i] : undefined, roomMs));
  if (typeof value !== 'object' || value === null || typeof other !== 'object' || other === null) return value;
  const others = new Map<string, unknown>(Object.entries(other));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, near(one, others.get(key), roomMs, key)]));
}

const COUNTED: ReadonlySet<string> = new Set(['nextDueMs', 'firstDueMs', 'oldestPendingAgeMs', 'leaseLeftMs', 'dueAtMs']);
