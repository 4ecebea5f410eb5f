import { checkKeys, flag, isOptions, named, show, whole, wholeMs } from '../option-checks.js';
import { OptionError } from '../rillkit.errors.js';
import { checkGroupName, checkStreamName } from '../store/names.js';
import type { Trim } from '../store/stream-store.js';
import { classValidator, type DtoClass, type LoadedSchema } from './class-validator.js';
import type { Codec } from './codec.js';
import { json } from './codec-json.js';
import type { StandardSchema } from './standard-schema.js';

export interface StreamOptions<Out, In> {
  /** The group of handlers that name none; goes before the module's. */
  readonly group?: string | undefined;
  /**
   * Checks bodies on publish, which are stored as given; checks and transforms them on read. Any Standard Schema (zod, valibot, arktype, …),
   * or a class with decorators of class-validator, see {@link classValidator}.
   */
  readonly schema?: StandardSchema<In, Out> | DtoClass<Out> | undefined;
  /** How an entry's fields are written and read: `json`, `bytes()`, `flat()`, or one of your own. @default json */
  readonly codec?: Codec | undefined;
  /** Trims the stream to about this many entries on each publish, read or not; 1 or more. @default no limit */
  readonly maxLen?: number | undefined;
  /** Whether `maxLen` may be overshot a little, which is much cheaper. @default true */
  readonly approximate?: boolean | undefined;
  /** Where a group that does not exist yet begins. @default 'beginning' */
  readonly startFrom?: StartFrom | undefined;
  /** The largest encoded body that `publish` accepts, bytes, 1 or more. @default no limit */
  readonly maxBytes?: number | undefined;
  readonly dlq?:
    | {
        /** Keeps about this many dead letters, the newest; 1 or more. @default no limit */
        readonly maxLen?: number | undefined;
        /** Drops dead letters that are older, milliseconds, 1 or more. @default no limit */
        readonly maxAgeMs?: number | undefined;
      }
    | undefined;
}

/** `'beginning'`, `'new'`, or an entry id: what comes behind it is read. */
export type StartFrom = 'beginning' | 'new' | `${number}-${number}`;

const KNOWN = ['group', 'schema', 'codec', 'maxLen', 'approximate', 'startFrom', 'maxBytes', 'dlq'];
const AT_LEAST_ONE = { min: 1, max: Number.MAX_SAFE_INTEGER };

/** A stream of messages: what handlers get (`Out`), what publishers give (`In`). Its Redis key is its name as given. */
export class Stream<Out = unknown, In = Out> {
  declare protected readonly types: { readonly out: Out; readonly in: In };

  /** What checks its bodies; `null` where nothing does. A class is wrapped into its schema. */
  readonly schema: StandardSchema<In, Out> | null;
  readonly codec: Codec;
  /** What each publish trims to, unless it says otherwise itself; `null` where nothing limits the stream. */
  readonly trim: Trim | null;

  /**
   * @throws NameError for a name that no stream can have.
   * @throws OptionError for an option that is unknown, or breaks its rule.
   */
  constructor(
    readonly name: string,
    readonly options: StreamOptions<Out, In> = {},
  ) {
    checkStreamName(name);
    const at = `new Stream(${show(name)})`;
    checkKeys(at, options, KNOWN);
    const { group, maxLen, maxBytes, startFrom, dlq, approximate } = options;
    if (group !== undefined) named(`${at}.group`, group, checkGroupName);
    if (maxLen !== undefined) whole(`${at}.maxLen`, maxLen, AT_LEAST_ONE);
    if (approximate !== undefined) flag(`${at}.approximate`, approximate);
    if (maxBytes !== undefined) whole(`${at}.maxBytes`, maxBytes, AT_LEAST_ONE, 'bytes');
    if (startFrom !== undefined) checkStartFrom(`${at}.startFrom`, startFrom);
    if (dlq !== undefined) checkDlq(`${at}.dlq`, dlq);
    this.codec = options.codec === undefined ? json : checkCodec(`${at}.codec`, options.codec);
    this.schema = options.schema === undefined ? null : toSchema(`${at}.schema`, options.schema);
    this.trim = maxLen === undefined ? null : { maxLen, approximate: approximate ?? true };
  }

  /** Loads what the schema needs, so that a package that is not installed is an error at start and not one of each message. */
  async load(): Promise<void> {
    if (this.schema !== null && isLoaded(this.schema)) await this.schema.load();
  }
}

/** @throws OptionError */
export function checkStartFrom(option: string, value: unknown): void {
  if (value === 'beginning' || value === 'new') return;
  if (typeof value === 'string' && /^\d{1,20}-\d{1,20}$/.test(value)) return;
  throw new OptionError(option, `must be 'beginning', 'new' or an entry id such as '1700000000000-0', not ${show(value)}`);
}

function checkDlq(at: string, dlq: NonNullable<StreamOptions<unknown, unknown>['dlq']>): void {
  checkKeys(at, dlq, ['maxLen', 'maxAgeMs']);
  if (dlq.maxLen !== undefined) whole(`${at}.maxLen`, dlq.maxLen, AT_LEAST_ONE);
  if (dlq.maxAgeMs !== undefined) wholeMs(`${at}.maxAgeMs`, dlq.maxAgeMs, AT_LEAST_ONE);
}

function checkCodec(option: string, codec: Codec): Codec {
  if (!isOptions(codec)) throw new OptionError(option, `must be a codec (json, bytes(), flat() or one of your own), not ${show(codec)}`);
  if (typeof codec.encode !== 'function') throw new OptionError(`${option}.encode`, 'must be a function (envelope) => fields');
  if (typeof codec.decode !== 'function') throw new OptionError(`${option}.decode`, 'must be a function (fields) => envelope');
  return codec;
}

function toSchema<In, Out>(option: string, schema: StandardSchema<In, Out> | DtoClass<Out>): StandardSchema<In, Out> {
  // Some schemas are functions too, arktype's among them, so this is asked before whether it is a class.
  if ((typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema) return schema;
  if (typeof schema === 'function') return classValidator(schema);
  throw new OptionError(option, `must be a Standard Schema or a class, not ${show(schema)}`);
}

const isLoaded = <In, Out>(schema: StandardSchema<In, Out>): schema is LoadedSchema<In, Out> => 'load' in schema;
