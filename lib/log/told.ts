import { errorMessage, errorName } from '../broker/dead-letter-fields.js';

/** What stands before a host in a URL, to the last `@`: a password that nobody has escaped may hold one, and a slash. A port is none. */
const CREDENTIALS = /\/\/(?:[^\s/@:]*:(?!\d+\/)[^\s"'<>]*|[^\s/]*)@/g;
/** The bound of the text may have cut off the `@` behind a password. */
const CUT_OFF = /\/\/[^\s/@:]*:[^\s@]*…$/;

/** What was thrown, as one line that may be shown: bounded, and without the password that a URL in it may hold. Never throws. */
export const told = (error: unknown): string =>
  `${errorName(error)}: ${errorMessage(error)}`.replaceAll(CREDENTIALS, '//***@').replace(CUT_OFF, '//***…').replaceAll(/\s+/g, ' ');
