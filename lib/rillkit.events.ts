import type { EntryId } from './store/stream-store.js';

/** How a delivery ended. `acked` and `dead` end the message; the others let it run again. */
export type Outcome = 'acked' | 'retried' | 'dead' | 'released';

/** Why messages were handed back. */
export type HandBackReason = 'handler' | 'stalled' | 'shutdown' | 'leaseLost' | 'audit' | 'stillRunning';

/** Which of the library's own loops failed. */
export type LoopName = 'connection' | 'read' | 'take' | 'settle' | 'audit' | 'beat' | 'recover' | 'scan' | 'nudge' | 'signOff';

interface At {
  readonly stream: string;
  readonly group: string;
}

/** Everything that can happen, as one union. Bodies, headers and credentials are never part of it. */
export type RillkitEvent =
  | { readonly type: 'published'; readonly stream: string; readonly count: number }
  | { readonly type: 'publishFailed'; readonly stream: string; readonly error: unknown }
  /** A handler has ended, or was given up on. `errorName` only where it failed. */
  | ({
      readonly type: 'handled';
      readonly outcome: Outcome;
      readonly durationMs: number;
      readonly id: EntryId;
      readonly attempt: number;
      readonly error?: unknown;
    } & At)
  | ({
      readonly type: 'deadLettered';
      readonly id: EntryId;
      readonly reason: string;
      readonly attempts: number;
      readonly error?: unknown;
    } & At)
  | ({ readonly type: 'deadLetterRefused'; readonly id: EntryId; readonly error: unknown } & At)
  | ({ readonly type: 'handedBack'; readonly count: number; readonly why: HandBackReason } & At)
  /** A settlement came too late and has changed nothing. */
  | ({ readonly type: 'fenced'; readonly id: EntryId; readonly worker: string } & At)
  /** Pending messages that were trimmed from the stream. */
  | ({ readonly type: 'lost'; readonly count: number } & At)
  | ({ readonly type: 'settled'; readonly count: number } & At)
  /** A dead worker's messages were parked for others. */
  | ({ readonly type: 'recovered'; readonly worker: string; readonly count: number } & At)
  | ({ readonly type: 'buried'; readonly worker: string } & At)
  | ({ readonly type: 'scanned'; readonly foreign: number; readonly repaired: number } & At)
  | ({ readonly type: 'leaseLost'; readonly worker: string } & At)
  | ({ readonly type: 'leaseRegained'; readonly worker: string } & At)
  /** Another live process has this worker's name; this one waits. */
  | ({ readonly type: 'nameTaken'; readonly worker: string } & At)
  | ({ readonly type: 'groupMade'; readonly again: boolean; readonly from: string } & At)
  | ({ readonly type: 'consuming'; readonly worker: string } & At)
  /** Handlers that outlived the shutdown's deadline; their messages run elsewhere. */
  | ({ readonly type: 'abandoned'; readonly ids: readonly EntryId[] } & At)
  | { readonly type: 'connected'; readonly connection: string; readonly again: boolean }
  | { readonly type: 'disconnected'; readonly connection: string; readonly error: unknown }
  /** One of our own loops failed and goes on after a wait. `failures` counts those in a row. */
  | ({ readonly type: 'loopFailed'; readonly loop: LoopName; readonly error: unknown; readonly failures: number } & Partial<At>)
  /** That loop works again, after so many failures in a row. */
  | ({ readonly type: 'loopRecovered'; readonly loop: LoopName; readonly failures: number } & Partial<At>)
  /** A function among the options threw, or answered nonsense; the default was used. */
  | ({ readonly type: 'callbackFailed'; readonly callback: 'retryIf' | 'backoff'; readonly error: unknown } & Partial<At>)
  | { readonly type: 'unboundedStream'; readonly stream: string }
  /** There is no Redis: all that is kept ends with the process. Told once, at the start. */
  | { readonly type: 'keptInMemory' };

export type EventOf<Type extends RillkitEvent['type']> = Extract<RillkitEvent, { readonly type: Type }>;

const isOf = <Type extends RillkitEvent['type']>(event: RillkitEvent, type: Type): event is EventOf<Type> => event.type === type;

/** Hands events to their listeners. One that throws, or rejects where it is asynchronous, disturbs neither the others nor the flow of messages. */
export class RillkitEvents {
  private readonly listeners = new Map<RillkitEvent['type'], Set<(event: RillkitEvent) => unknown>>();

  /** `onListenerError` is told what a listener threw. */
  constructor(private readonly onListenerError: (error: unknown, type: RillkitEvent['type']) => void = () => {}) {}

  /** Listens from now on; answers how to stop. */
  on<Type extends RillkitEvent['type']>(type: Type, listener: (event: EventOf<Type>) => unknown): () => void {
    const listeners = this.listeners.get(type) ?? new Set();
    const heard = (event: RillkitEvent): unknown => (isOf(event, type) ? listener(event) : undefined);
    this.listeners.set(type, listeners.add(heard));
    return () => void listeners.delete(heard);
  }

  emit(event: RillkitEvent): void {
    for (const listener of this.listeners.get(event.type) ?? []) {
      try {
        const end = listener(event);
        // Nobody waits for an asynchronous listener; unheard, its rejection would end the process.
        if (end instanceof Promise) end.catch((error: unknown) => this.onListenerError(error, event.type));
      } catch (error) {
        this.onListenerError(error, event.type);
      }
    }
  }
}
