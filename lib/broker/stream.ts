import type { Codec } from './codec.js';
import type { StandardSchema } from './standard-schema.js';

/** A class whose instances are checked with class-validator, see `classValidator()`; or any Standard Schema. */
export interface StreamOptions<Out, In> {
  /** The group of handlers that name none; goes before the module's. */
  readonly group?: string;
  /** Checks bodies on publish, checks and transforms them on read. */
  readonly schema?: StandardSchema<In, Out>;
  /** @default json */
  readonly codec?: Codec;
  /** Trims the stream to about this many entries on each publish, read or not. @default no limit */
  readonly maxLen?: number;
  /** Whether `maxLen` may be overshot a little, which is much cheaper. @default true */
  readonly approximate?: boolean;
  /** Where a group that does not exist yet begins. @default 'beginning' */
  readonly startFrom?: StartFrom;
  /** The largest encoded body that `publish` accepts, bytes. @default no limit */
  readonly maxBytes?: number;
  readonly dlq?: {
    /** Keeps about this many dead letters, the newest. @default no limit */
    readonly maxLen?: number;
    /** Drops dead letters that are older, milliseconds. @default no limit */
    readonly maxAgeMs?: number;
  };
}

/** `'beginning'`, `'new'`, or an entry id: what comes behind it is read. */
export type StartFrom = 'beginning' | 'new' | `${number}-${number}`;

/** A stream of messages: what handlers get (`Out`), what publishers give (`In`). */
export class Stream<Out = unknown, In = Out> {
  declare protected readonly types: { readonly out: Out; readonly in: In };

  constructor(
    readonly name: string,
    readonly options: StreamOptions<Out, In> = {},
  ) {}
}
