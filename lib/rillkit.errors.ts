const RILLKIT_ERROR = Symbol.for('rillkit:error');

/** The parent of every error of this library. `code` is stable and is what programs should look at; see {@link isRillkitError}. */
export abstract class RillkitError extends Error {
  abstract readonly code: `RILLKIT_${string}`;
  readonly [RILLKIT_ERROR] = true;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Whether `error` is one of ours, and of that `code` where one is given. Works across two copies of the package, where `instanceof` does not. */
export function isRillkitError(error: unknown, code?: RillkitError['code']): error is RillkitError {
  return (
    typeof error === 'object' && error !== null && RILLKIT_ERROR in error && 'code' in error && (code === undefined || error.code === code)
  );
}

/** An option that is unknown, of the wrong type, out of its bounds, or not yet there. Names the option and the rule. */
export class OptionError extends RillkitError {
  readonly code = 'RILLKIT_OPTION';

  constructor(
    readonly option: string,
    readonly rule: string,
    options?: ErrorOptions,
  ) {
    super(`${option}: ${rule}`, options);
  }
}

/** A name of a stream, group or worker that cannot be used. */
export class NameError extends RillkitError {
  readonly code = 'RILLKIT_NAME';
}

/** A handler that cannot be bound: in a controller, static, transient, guarded, without a group, … The message says what to do. */
export class HandlerError extends RillkitError {
  readonly code = 'RILLKIT_HANDLER';
}

/** Two handlers for one stream and group. */
export class DuplicateHandlerError extends RillkitError {
  readonly code = 'RILLKIT_DUPLICATE_HANDLER';

  constructor(
    readonly stream: string,
    readonly group: string,
    first: string,
    second: string,
  ) {
    super(`${first} and ${second} both handle "${stream}" in group "${group}". Give one of them a group of its own.`);
  }
}

/** Two `RillkitModule.forRoot()` of one name in one application. */
export class DuplicateModuleError extends RillkitError {
  readonly code = 'RILLKIT_DUPLICATE_MODULE';
}

/** A body that cannot be carried: not encodable by the stream's codec, or too large. Nothing was written. */
export class BodyError extends RillkitError {
  readonly code = 'RILLKIT_BODY';
}

/** A body that does not fit the schema of its stream. */
export class SchemaError extends RillkitError {
  readonly code = 'RILLKIT_SCHEMA';

  constructor(
    message: string,
    /** What the schema said, one line an issue. */
    readonly issues: readonly string[],
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A publish that was not confirmed in time. `stored` says whether the message may be in the stream nevertheless; who sends it again gives the same `messageId`. */
export class PublishError extends RillkitError {
  readonly code = 'RILLKIT_PUBLISH';

  constructor(
    message: string,
    readonly stored: 'no' | 'unknown',
    /** For sending it again: given by the publisher, or made for this publish. */
    readonly messageId: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A replay of dead letters that storage broke off. What is in `replayed` is back in its stream; calling again goes on with the rest. */
export class ReplayError extends RillkitError {
  readonly code = 'RILLKIT_REPLAY';

  constructor(
    message: string,
    readonly replayed: readonly { readonly deadLetter: string; readonly id: string }[],
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A handler that did not end within its `timeoutMs`. The attempt has failed. */
export class HandlerTimeoutError extends RillkitError {
  readonly code = 'RILLKIT_HANDLER_TIMEOUT';

  constructor(readonly timeoutMs: number) {
    super(`The handler did not end within timeoutMs = ${timeoutMs}.`);
  }
}

/** The reason of `message.signal` when this worker could not renew its lease: its messages are handed to others. */
export class LeaseLostError extends RillkitError {
  readonly code = 'RILLKIT_LEASE_LOST';

  constructor() {
    super('This worker could not renew its lease in time; the message will run again, here or elsewhere.');
  }
}

/** The reason of `message.signal` when the application shuts down and `shutdown.graceMs` is over. */
export class ShutdownError extends RillkitError {
  readonly code = 'RILLKIT_SHUTDOWN';

  constructor() {
    super('The application is shutting down and the grace is over; the message will run again elsewhere.');
  }
}

/** The client of a connection to Redis was asked for where there is none. */
export class NoRedisError extends RillkitError {
  readonly code = 'RILLKIT_NO_REDIS';

  constructor() {
    super(
      'Messages are kept in memory here, so that there is no Redis and no client of one. Ask for it only where the connection leads to Redis.',
    );
  }
}

/** What kind of trouble storage is in; each is answered differently. */
export type StoreFault =
  /** No connection, or it was lost with the call under way. */
  | 'unavailable'
  /** The group, or the whole stream, is gone. */
  | 'noGroup'
  /** A key of another type stands where ours should. */
  | 'wrongType'
  /** The server is out of memory and refuses writes. */
  | 'outOfMemory'
  /** A replica, or a server that refuses writes for now. */
  | 'readOnly'
  /** A blocked read was broken off, by us or by the server. */
  | 'interrupted'
  /** The server refuses for a reason of its own: permissions, loading, busy, cluster, … */
  | 'refused';

/** A call to storage that failed. */
export class StoreError extends RillkitError {
  readonly code = 'RILLKIT_STORE';

  constructor(
    message: string,
    readonly fault: StoreFault,
    /** Whether the call may have been applied: `no` is certain. */
    readonly applied: 'no' | 'unknown',
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export const isStoreFault = (error: unknown, ...faults: StoreFault[]): error is StoreError =>
  error instanceof StoreError && faults.includes(error.fault);
