export { RillkitModule, type InstanceName, type RillkitModuleAsyncOptions } from './rillkit.module.js';
export type { RillkitOptionsFactory } from './rillkit-core.module.js';
export { getBrokerToken, InjectBroker } from './rillkit.tokens.js';
export type {
  AckPolicy,
  ConnectionOption,
  LivenessOptions,
  RillkitModuleOptions,
  ShutdownOptions,
  StreamHandlerOptions,
} from './rillkit.options.js';

export { Broker, type GroupOption } from './broker/broker.js';
export type { ManyItem, MessageOptions, PublishAnswer, Published, PublishOptions, TrimOptions } from './broker/publisher.js';
export { DeadLetter } from './broker/dead-letter.js';
export { DeadLetters, type ListOptions, type OfGroup, type Replayed, type ReplayOptions } from './broker/dead-letters.js';
export type { DeadLetterReason } from './broker/dead-letter-fields.js';
export type { Inspection } from './broker/inspection.js';
export type { StreamOrName } from './broker/place.js';
export { createBroker, StandaloneBroker, type CreateBrokerOptions } from './broker/create-broker.js';
export { fromEnv } from './broker/from-env.js';

export { Stream, type StartFrom, type StreamOptions } from './broker/stream.js';
export { classValidator, type DtoClass } from './broker/class-validator.js';
export type { StandardSchema, StandardResult } from './broker/standard-schema.js';
export type { Codec, Envelope } from './broker/codec.js';
export { json } from './broker/codec-json.js';
export { bytes } from './broker/codec-bytes.js';
export { flat } from './broker/codec-flat.js';

export {
  STREAM_HANDLER,
  StreamHandler,
  type StreamHandlerDecorator,
  type StreamHandlerDefinition,
} from './handlers/stream-handler.decorator.js';
export { Message, RejectMessage, RetryMessage } from './handlers/message.js';
export { exponential, fixed, type Backoff, type ExponentialOptions, type JitteredBackoff } from './consumer/backoff.js';

export { RillkitEvents, type EventOf, type HandBackReason, type LoopName, type Outcome, type RillkitEvent } from './rillkit.events.js';
export {
  BodyError,
  DuplicateHandlerError,
  DuplicateModuleError,
  HandlerError,
  HandlerTimeoutError,
  isRillkitError,
  LeaseLostError,
  NameError,
  NoRedisError,
  OptionError,
  PublishError,
  ReplayError,
  RillkitError,
  SchemaError,
  ShutdownError,
  StoreError,
  type StoreFault,
} from './rillkit.errors.js';
export { MemoryStore, type MemoryStoreParams } from './store/memory/memory-store.js';
export type { EntryId, Fields, StreamStats } from './store/stream-store.js';
