import type { StoreError } from '../rillkit.errors.js';

/** A Redis entry id, `<ms>-<sequence>`. */
export type EntryId = string;

/** An entry as it is stored: names and values in order, values as bytes. */
export type Fields = readonly (readonly [name: string, value: Buffer])[];

/** A stream and one group on it; names as the user gave them, the store makes keys of them. */
export interface Place {
  readonly stream: string;
  readonly group: string;
}

/** Where a new group begins; `after`: what comes behind that entry is read. */
export type GroupStart = 'beginning' | 'new' | { readonly after: EntryId };

/** A message handed to a worker. (worker, number) is the fence. */
export interface Delivered {
  readonly id: EntryId;
  readonly number: number;
  readonly fields: Fields;
}

export interface Trim {
  readonly maxLen: number;
  /** Lets the server trim by whole nodes, which is much cheaper. */
  readonly approximate: boolean;
}

/** `retry`: the attempt is spent. `release`: handed back, the attempt is not counted, up to `maxHandBacks`. Both become due after `delayMs`. */
export type Settlement =
  | { readonly id: EntryId; readonly number: number; readonly op: 'ack' }
  | { readonly id: EntryId; readonly number: number; readonly op: 'retry' | 'release'; readonly delayMs: number };

/** `fenced`: no longer this worker's, or applied before; nothing was changed. `lost`: trimmed from the stream, dropped from the pending list. */
export type Settled =
  { readonly is: 'ok' } | { readonly is: 'fenced' } | { readonly is: 'lost' } | { readonly is: 'refused'; readonly error: StoreError };

/** The end of a message that is given up. The entry's own fields come from the stream; `entry` is used where it was trimmed meanwhile. */
export interface Burial {
  readonly id: EntryId;
  readonly number: number;
  readonly entry: Fields;
  /** The `rillkit:` fields, see design of dead letters in docs/internals.md. `rillkit:at` is added by the store. */
  readonly why: readonly (readonly [name: string, value: string])[];
  readonly trim?: Trim | undefined;
  /** Entries of the dead letter stream that are older than this are dropped, milliseconds. */
  readonly maxAgeMs?: number | undefined;
  /** What happens when the server refuses (out of memory, wrong type, …): parked for `delayMs` under a number whose attempt is `attempt`. */
  readonly refused: { readonly delayMs: number; readonly attempt: number };
}

/** `refused`: the dead letter could not be written; the message is parked and is given up when it comes again. */
export type Buried =
  { readonly is: 'ok' } | { readonly is: 'fenced' } | { readonly is: 'lost' } | { readonly is: 'refused'; readonly error: StoreError };

export interface Taken {
  readonly messages: readonly Delivered[];
  /** Parked entries that were trimmed from the stream meanwhile. */
  readonly lost: readonly EntryId[];
  /** When the next parked message falls due, milliseconds from now, 0 when some are due already; `null` when none is parked. */
  readonly nextDueMs: number | null;
}

export interface BeatRequest extends Place {
  readonly worker: string;
  /** Tells incarnations of one name apart: a random whole number, 1 to 2^53 - 1. */
  readonly tag: number;
  readonly leaseMs: number;
  /** Each period of this length one of the group's beats is told to scan. */
  readonly scanMs: number;
  /** `atMs` of the caller's last answered beat here. */
  readonly since: number | null;
  /** Takes over a name whose former incarnation's lease is over. */
  readonly takeOver: boolean;
}

export type Beat =
  | {
      readonly is: 'beaten';
      /** The server's clock, milliseconds since 1970. */
      readonly atMs: number;
      /** What this worker's own row said before: a lease still running, one that was over, or none. */
      readonly before: 'live' | 'over' | 'none';
      /** When the first parked message falls due, milliseconds from now, 0 or less when it is due; `null` when none is parked. */
      readonly firstDueMs: number | null;
      /** Workers whose lease is over. */
      readonly over: readonly string[];
      readonly scan: boolean;
      readonly paused: boolean;
    }
  /** Another incarnation holds the name; nothing of this one was written. `leaseLeftMs` 0 or less: its lease is over, so that the name can be recovered and taken over. */
  | { readonly is: 'taken'; readonly leaseLeftMs: number };

export type Recovery = {
  /** `alive`: nothing was done. `more`: call again. `parked`: nothing is pending there; the name is kept until its grave time is over. `buried`: name and row are gone. */
  readonly is: 'alive' | 'more' | 'parked' | 'buried';
  readonly parked: number;
  readonly lost: readonly EntryId[];
};

export type SignOff = {
  /** `more`: call again. `done`: consumer and row are gone. `left`: others will bury the name. */
  readonly is: 'more' | 'done' | 'left';
  readonly parked: number;
  readonly lost: readonly EntryId[];
};

export interface Scan {
  /** Messages of consumers without a lease that were parked as due. */
  readonly foreign: number;
  /** Rows that were missing for parked messages. */
  readonly repaired: number;
  readonly lost: readonly EntryId[];
}

export interface PendingEntry {
  readonly id: EntryId;
  readonly number: number;
}

export interface DeadLetterEntry {
  readonly id: EntryId;
  readonly fields: Fields;
}

/** Where an entry is, as one group sees it. */
export type Located =
  /** The group has not been given it yet. */
  | { readonly is: 'waiting' }
  /** A worker has it: its handler runs, or it waits for a slot there. */
  | { readonly is: 'running'; readonly worker: string; readonly number: number }
  /** `dueAtMs`: by the server's clock, milliseconds since 1970. */
  | { readonly is: 'parked'; readonly number: number; readonly dueAtMs: number }
  /** It was given to the group, and has ended there. */
  | { readonly is: 'settled' }
  /** It is not in the stream, and nobody has it. */
  | { readonly is: 'gone' };

/** What is asked of a stream for one group. `null` is unknown, never a made-up zero. */
export interface StreamStats {
  readonly length: number | null;
  /** Entries that the group has not been given yet. Unknown after entries in the middle were deleted. */
  readonly undelivered: number | null;
  /** Given to somebody and not settled, parked ones included. */
  readonly pending: number | null;
  /** Age of the oldest pending entry, by its id and the server's clock. `null` too when nothing is pending; `pending` says which. */
  readonly oldestPendingAgeMs: number | null;
  readonly parked: number | null;
  readonly deadLetters: number | null;
}

/** The blocking half of reading, on a connection of its own. One read at a time. */
export interface BlockingReader {
  /** Waits until one of the group's `streams` has new messages, at most `blockMs`. Rejects with a {@link StoreError}. */
  read(request: {
    readonly group: string;
    readonly worker: string;
    readonly streams: readonly string[];
    readonly count: number;
    readonly blockMs: number;
  }): Promise<readonly { readonly stream: string; readonly messages: readonly Delivered[] }[]>;
  /**
   * Breaks off the read under way, which answers nothing then, or rejects as `interrupted` where there was no connection. Ends when that read has: `ended` says that the server will not serve it any more, `unsure` that it may
   * (its connection is gone and could not be killed).
   */
  interrupt(): Promise<'ended' | 'unsure'>;
  /** Closes the connection; never rejects. */
  close(): Promise<void>;
}

export type ConnectionState = 'idle' | 'connecting' | 'ready' | 'waiting' | 'closed';

/**
 * The one door to storage. Every method rejects with a {@link StoreError} and nothing else; each is atomic, and none is sent again behind
 * the caller's back. All times are by the server's clock.
 */
export interface StreamStore {
  /** Begins to connect and keeps at it; does not wait for it. */
  start(): void;
  /** Closes all connections, at once where they hang; never rejects. */
  close(): Promise<void>;
  readonly state: ConnectionState;
  /** Ends when the store can be talked to, or `waitMs` is over, or `signal` aborts: `false` then. */
  ready(waitMs: number, signal?: AbortSignal): Promise<boolean>;
  ping(): Promise<void>;

  /** Adds one entry and answers its id. Waits at most `waitMs` in all, for a connection and for the answer. */
  append(stream: string, fields: Fields, options: { readonly trim?: Trim | undefined; readonly waitMs: number }): Promise<EntryId>;

  /** Makes the group (and the stream) at `from`, if it is not there. */
  ensureGroup(place: Place, from: GroupStart): Promise<'created' | 'existed'>;
  hasEntry(stream: string, id: EntryId): Promise<boolean>;
  openReader(name: string): BlockingReader;
  /** New messages, without waiting. */
  read(place: Place, worker: string, count: number): Promise<readonly Delivered[]>;
  /** Parked messages that are due. */
  take(place: Place, worker: string, count: number): Promise<Taken>;
  /** One answer a settlement, in order. A whole call is at most {@link MAX_BATCH} long. */
  settle(place: Place, worker: string, maxHandBacks: number, settlements: readonly Settlement[]): Promise<readonly Settled[]>;
  bury(place: Place, worker: string, burial: Burial): Promise<Buried>;
  /** What is pending for `worker`, in order, behind `after`. */
  pendingOf(place: Place, worker: string, after: EntryId | null, count: number): Promise<readonly PendingEntry[]>;

  /** One answer a request, in order, each alone: one that fails does not fail the others. */
  beat(requests: readonly BeatRequest[]): Promise<readonly (Beat | StoreError)[]>;
  /** Writes, or with `ttlMs` 0 deletes, the keys that `redis-cli` users look at. */
  heartbeat(places: readonly (Place & { readonly worker: string })[], ttlMs: number): Promise<void>;
  recover(place: Place, worker: string, options: { readonly count: number; readonly graveMs: number }): Promise<Recovery>;
  signOff(
    place: Place,
    worker: string,
    options: {
      readonly count: number;
      readonly maxHandBacks: number;
      readonly sure: boolean;
      /** The incarnation that signs off; where another holds the name, nothing is done and the answer is `left`. */
      readonly tag?: number | undefined;
    },
  ): Promise<SignOff>;
  scan(place: Place, options: { readonly claimIdleMs: number; readonly count: number }): Promise<Scan>;

  /** Tells the other workers of the group that something is due in `stream`. */
  nudge(place: Place): Promise<void>;
  /** Hears nudges for the group, from now on, over reconnects. Answers how to stop. */
  onNudge(group: string, heard: (stream: string) => void): () => void;

  /** Names of the workers with a lease, sorted. */
  workers(place: Place): Promise<readonly string[]>;
  stats(place: Place): Promise<StreamStats>;
  /** Where one entry is. A group that does not exist yet has been given nothing. */
  locate(place: Place, id: EntryId): Promise<Located>;
  /** Dead letters of a stream, oldest first, behind `after`. */
  deadLetters(stream: string, options: { readonly after: EntryId | null; readonly count: number }): Promise<readonly DeadLetterEntry[]>;
  deadLetter(stream: string, id: EntryId): Promise<DeadLetterEntry | null>;
  countDeadLetters(stream: string): Promise<number>;
  removeDeadLetters(stream: string, ids: readonly EntryId[]): Promise<number>;
  /** Puts a dead letter back into its stream as a new entry. `gone`: it was replayed or removed before. */
  replay(stream: string, deadLetter: EntryId): Promise<{ readonly is: 'replayed'; readonly id: EntryId } | { readonly is: 'gone' }>;
}

/** The most items of one call: bounds how long a script can hold the server. */
export const MAX_BATCH = 1_000;
