import { RillkitError } from '../rillkit.errors.js';

/** A test cannot go on: the application has not started, is closed, or something in it does not end. The message says what. */
export class TestingError extends RillkitError {
  readonly code = 'RILLKIT_TESTING';
}
