import { errorMessage, errorName } from '../broker/dead-letter-fields.js';

/** What was thrown, as one line that may be shown: bounded, and without the password that a URL in it may hold. Never throws. */
export const told = (error: unknown): string =>
  `${errorName(error)}: ${errorMessage(error)}`.replaceAll(/\/\/[^\s/@]*@/g, '//***@').replaceAll(/\s+/g, ' ');
