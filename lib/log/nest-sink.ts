import { Logger } from '@nestjs/common';
import type { LogSink } from './event-log.js';
import type { Level } from './lines.js';

/** Nest's logger under the name of the product. A logger that throws disturbs nothing: there is nobody left to tell. */
export function nestSink(logger: Pick<Logger, Level> = new Logger('Rillkit')): LogSink {
  const safely =
    (level: Level) =>
    (text: string): void => {
      try {
        logger[level](text);
      } catch {
        // The message flow matters more than its log.
      }
    };
  return { log: safely('log'), warn: safely('warn'), error: safely('error'), debug: safely('debug') };
}
