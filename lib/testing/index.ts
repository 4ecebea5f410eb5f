export { withRillkitTesting, type TestingOptions } from './with-rillkit-testing.js';
export { RillkitHarness, type DrainOptions, type HandledOptions } from './rillkit-harness.js';
export { TestClock } from './test-clock.js';
export { TestingError } from './testing.error.js';
export type { DeadMessage, HandledMessage, PublishedMessage } from './records.js';
