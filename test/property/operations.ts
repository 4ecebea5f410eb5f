import * as fc from 'fast-check';

/**
 * What may be done to a store, as plain data, so that a sequence can be shrunk, printed, and kept as a test. Entries, deliveries and dead
 * letters are meant by numbers: of all there have been so far, the one at that place, counted from the latest, round and round.
 */
export type Operation =
  | { readonly do: 'append'; readonly trim: Trim; readonly named: boolean }
  | { readonly do: 'ensureGroup'; readonly group: Group; readonly from: 'beginning' | 'new' | 'ahead' | number }
  | { readonly do: 'hasEntry'; readonly entry: number }
  | { readonly do: 'read' | 'take'; readonly group: Group; readonly worker: Worker; readonly count: number }
  | {
      readonly do: 'settle';
      readonly group: Group;
      readonly worker: Worker | 'owner';
      readonly maxHandBacks: number;
      readonly items: readonly Item[];
    }
  | {
      readonly do: 'bury';
      readonly delivery: number;
      readonly twist: Twist;
      readonly copy: boolean;
      readonly trim: 'none' | number;
      readonly ages: boolean;
    }
  | { readonly do: 'pendingOf'; readonly group: Group; readonly worker: Worker; readonly after: number | null; readonly count: number }
  | {
      readonly do: 'beat';
      readonly group: Group;
      readonly worker: Worker;
      readonly tag: number;
      readonly since: boolean;
      readonly takeOver: boolean;
    }
  | { readonly do: 'heartbeat'; readonly worker: Worker; readonly ttlMs: number }
  | { readonly do: 'recover'; readonly group: Group; readonly worker: Worker; readonly count: number; readonly graveMs: number }
  | {
      readonly do: 'signOff';
      readonly group: Group;
      readonly worker: Worker;
      readonly count: number;
      readonly maxHandBacks: number;
      readonly sure: boolean;
      readonly tag: number | null;
    }
  | { readonly do: 'scan'; readonly group: Group; readonly claimIdleMs: number; readonly count: number }
  | { readonly do: 'workers' | 'stats'; readonly group: Group }
  | { readonly do: 'locate'; readonly group: Group; readonly entry: number }
  | { readonly do: 'deadLetters'; readonly after: number | null; readonly count: number }
  | { readonly do: 'deadLetter' | 'replay'; readonly letter: number }
  | { readonly do: 'removeDeadLetters'; readonly letters: readonly number[] }
  | { readonly do: 'countDeadLetters' }
  // What others do to the keys, behind the store's back.
  | { readonly do: 'deleteEntries'; readonly entries: readonly number[] }
  | { readonly do: 'dropGroup'; readonly group: Group }
  | { readonly do: 'dropStream' }
  | { readonly do: 'setLease'; readonly group: Group; readonly row: Worker | '~beat' | '~scan' | '~pause'; readonly inMs: number }
  | { readonly do: 'dropRow'; readonly group: Group; readonly entry: number }
  | { readonly do: 'addRow'; readonly group: Group; readonly entry: number; readonly inMs: number }
  | { readonly do: 'claim'; readonly group: Group; readonly entry: number; readonly worker: Worker };

/** A number: at most so many, exactly. */
type Trim = 'none' | 'approximate' | number;
export type Group = 'g' | 'h';
/** `by-hand` never beats. */
export type Worker = 'w1' | 'w2' | 'w3' | 'by-hand';
/** What is wrong with a fence. */
export type Twist = 'none' | 'worker' | 'number' | 'unknown';

export interface Item {
  readonly delivery: number;
  readonly twist: Twist;
  readonly op: 'ack' | 'retry' | 'release';
  readonly delayMs: number;
}

/** Far enough off that no run gets there. */
export const FAR_MS = 600_000;

const some = fc.oneof(fc.nat({ max: 4 }), fc.nat({ max: 999 }));
const group = fc.constantFrom<Group[]>('g', 'g', 'g', 'h');
const worker = fc.constantFrom<Worker[]>('w1', 'w1', 'w1', 'w2', 'w2', 'w3', 'by-hand');
const count = fc.constantFrom(1, 2, 3, 5, 100);
const twist = fc.constantFrom<Twist[]>('none', 'none', 'none', 'none', 'none', 'worker', 'number', 'unknown');
const delayMs = fc.constantFrom(0, 0, FAR_MS);
const maxHandBacks = fc.constantFrom(0, 1, 2, 8);
const item = fc.record({ delivery: some, twist, op: fc.constantFrom('ack', 'ack', 'retry', 'release'), delayMs });
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null });
const is = <const Name extends string>(name: Name): fc.Arbitrary<Name> => fc.constant(name);

const weighted = (weight: number, arbitrary: fc.Arbitrary<Operation>) => ({ weight, arbitrary });

export const operation: fc.Arbitrary<Operation> = fc.oneof(
  weighted(
    12,
    fc.record({
      do: is('append'),
      trim: fc.constantFrom<Trim[]>('none', 'none', 'none', 'none', 'approximate', 2, 5),
      named: fc.boolean(),
    }),
  ),
  weighted(6, fc.record({ do: is('ensureGroup'), group, from: fc.oneof(is('beginning'), is('beginning'), is('new'), is('ahead'), some) })),
  weighted(1, fc.record({ do: is('hasEntry'), entry: some })),
  weighted(10, fc.record({ do: is('read'), group, worker, count })),
  weighted(8, fc.record({ do: is('take'), group, worker, count })),
  weighted(
    12,
    fc.record({
      do: is('settle'),
      group,
      worker: fc.oneof(is('owner'), is('owner'), worker),
      maxHandBacks,
      items: fc.array(item, { maxLength: 6, size: 'max' }),
    }),
  ),
  weighted(
    5,
    fc.record({
      do: is('bury'),
      delivery: some,
      twist,
      copy: fc.boolean(),
      trim: fc.constantFrom<('none' | number)[]>('none', 'none', 2),
      ages: fc.boolean(),
    }),
  ),
  weighted(1, fc.record({ do: is('pendingOf'), group, worker, after: orNull(some), count })),
  weighted(9, fc.record({ do: is('beat'), group, worker, tag: fc.constantFrom(1, 1, 1, 2), since: fc.boolean(), takeOver: fc.boolean() })),
  weighted(1, fc.record({ do: is('heartbeat'), worker, ttlMs: fc.constantFrom(0, FAR_MS) })),
  weighted(7, fc.record({ do: is('recover'), group, worker, count, graveMs: fc.constantFrom(0, FAR_MS) })),
  weighted(3, fc.record({ do: is('signOff'), group, worker, count, maxHandBacks, sure: fc.boolean(), tag: orNull(fc.constantFrom(1, 2)) })),
  weighted(3, fc.record({ do: is('scan'), group, claimIdleMs: fc.constantFrom(0, FAR_MS), count })),
  weighted(2, fc.record({ do: fc.constantFrom('workers', 'stats', 'stats', 'stats'), group })),
  weighted(2, fc.record({ do: is('locate'), group, entry: some })),
  weighted(2, fc.record({ do: is('deadLetters'), after: orNull(some), count })),
  weighted(1, fc.record({ do: is('deadLetter'), letter: some })),
  weighted(2, fc.record({ do: is('replay'), letter: some })),
  weighted(1, fc.record({ do: is('removeDeadLetters'), letters: fc.array(some, { maxLength: 3 }) })),
  weighted(1, fc.record({ do: is('countDeadLetters') })),
  weighted(2, fc.record({ do: is('deleteEntries'), entries: fc.array(some, { minLength: 1, maxLength: 3 }) })),
  weighted(1, fc.record({ do: is('dropGroup'), group })),
  weighted(1, fc.record({ do: is('dropStream') })),
  weighted(
    4,
    fc.record({
      do: is('setLease'),
      group,
      row: fc.constantFrom<(Worker | '~beat' | '~scan' | '~pause')[]>('w1', 'w1', 'w2', 'w3', '~beat', '~scan', '~pause'),
      inMs: fc.constantFrom(-50_000, -1_000, -1_000, FAR_MS),
    }),
  ),
  weighted(3, fc.record({ do: is('dropRow'), group, entry: some })),
  weighted(1, fc.record({ do: is('addRow'), group, entry: some, inMs: fc.constantFrom(-1_000, FAR_MS) })),
  weighted(2, fc.record({ do: is('claim'), group, entry: some, worker })),
);

/** Begins with something there: without a group nearly everything is refused. */
const beginning: Operation[] = [
  { do: 'ensureGroup', group: 'g', from: 'beginning' },
  { do: 'ensureGroup', group: 'h', from: 'beginning' },
  ...Array.from({ length: 6 }, (): Operation => ({ do: 'append', trim: 'none', named: false })),
  { do: 'read', group: 'g', worker: 'w1', count: 3 },
];

export const sequence: fc.Arbitrary<Operation[]> = fc
  .tuple(
    fc.constantFrom(beginning.length, beginning.length, beginning.length, 2, 0),
    fc.array(operation, { minLength: 5, maxLength: 50, size: 'max' }),
  )
  .map(([begun, operations]) => [...beginning.slice(0, begun), ...operations]);
