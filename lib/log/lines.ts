import { errorName } from '../broker/dead-letter-fields.js';
import { isStoreFault } from '../rillkit.errors.js';
import type { EventOf, LoopName, RillkitEvent } from '../rillkit.events.js';
import { told } from './told.js';

/** `log` for start and stop, `warn` for what heals itself, `error` for what needs a person, `debug` for what is every day's business. */
export type Level = 'log' | 'warn' | 'error' | 'debug';

export interface Line {
  readonly level: Level;
  readonly text: string;
  /** Lines of one kind are told at most once a period. Absent: always told. */
  readonly kind?: string;
}

const IDS_SHOWN = 10;

/** What there is to say about an event, `null` for nothing. Never bodies, headers or credentials. */
export function lineOf(event: RillkitEvent): Line | null {
  switch (event.type) {
    case 'publishFailed':
      return throttled('warn', event, [event.stream], `Publishing to "${event.stream}" failed: ${told(event.error)}`);
    case 'handled':
      return handled(event);
    case 'deadLettered':
      return throttled('warn', event, [...placeOf(event), event.reason], deadLettered(event));
    case 'deadLetterRefused':
      return throttled(
        'error',
        event,
        placeOf(event),
        `${at(event)}the dead letter of ${event.id} could not be written, it waits: ${told(event.error)}`,
      );
    case 'handedBack':
      return handedBack(event);
    case 'fenced':
      return throttled(
        'warn',
        event,
        placeOf(event),
        `${at(event)}a settlement of ${event.id} by "${event.worker}" came too late and has changed nothing.`,
      );
    case 'lost':
      return throttled(
        'error',
        event,
        placeOf(event),
        `${at(event)}${messages(event.count)} lost: trimmed from the stream before they were handled.`,
      );
    case 'recovered':
      return throttled(
        'warn',
        event,
        [...placeOf(event), event.worker],
        `${at(event)}worker "${event.worker}" is dead; ${messages(event.count)} handed on.`,
      );
    case 'buried':
      return { level: 'log', text: `${at(event)}worker "${event.worker}" is gone for good.` };
    case 'scanned':
      return scanned(event);
    case 'leaseLost':
      return {
        level: 'error',
        text: `${at(event)}"${event.worker}" could not renew its lease: it starts nothing, and its messages run elsewhere.`,
      };
    case 'leaseRegained':
      return { level: 'log', text: `${at(event)}"${event.worker}" has its lease again.` };
    case 'nameTaken':
      return throttled(
        'error',
        event,
        placeOf(event),
        `${at(event)}another live process is called "${event.worker}"; this one waits. Give each process a name of its own.`,
      );
    case 'groupMade':
      return groupMade(event);
    case 'consuming':
      return { level: 'log', text: `${at(event)}consuming as "${event.worker}".` };
    case 'abandoned':
      return {
        level: 'error',
        text: `${at(event)}${messages(event.ids.length)} not done when the shutdown's time was over, to run elsewhere: ${shown(event.ids)}`,
      };
    case 'connected':
      return { level: event.again ? 'log' : 'debug', text: `Redis is connected${event.again ? ' again' : ''} (${event.connection}).` };
    case 'disconnected':
      return throttled('warn', event, [event.connection], `Redis is disconnected (${event.connection}): ${told(event.error)}`);
    case 'loopFailed':
      return throttled(
        levelOf(event),
        event,
        [concernOf(event.loop), ...placeOf(event)],
        `${at(event)}${event.loop} failed and goes on (${event.failures} in a row): ${told(event.error)}`,
      );
    case 'loopRecovered':
      return { level: 'log', text: `${at(event)}${event.loop} works again, after ${event.failures} failures in a row.` };
    case 'callbackFailed':
      return throttled(
        'error',
        event,
        [...placeOf(event), event.callback],
        `${at(event)}${event.callback} of the options failed, the default was used: ${told(event.error)}`,
      );
    case 'unboundedStream':
      return throttled(
        'warn',
        event,
        [event.stream],
        `Stream "${event.stream}" grows without limit. Give it a maxLen: new Stream("${event.stream}", { maxLen: 100_000 }).`,
      );
    case 'keptInMemory':
      return { level: 'warn', text: "Messages are kept in this process's memory and end with it: there is no Redis." };
    case 'published':
    case 'settled':
      break;
  }
  return null;
}

/** The kind of line whose end this event is: told where its beginning was, and only there. */
export function endedBy(event: RillkitEvent): string | null {
  if (event.type === 'loopRecovered') return kindOf('loopFailed', [concernOf(event.loop), ...placeOf(event)]);
  if (event.type === 'connected' && event.again) return kindOf('disconnected', [event.connection]);
  return null;
}

interface MaybeAt {
  readonly stream?: string;
  readonly group?: string;
}

/** Reading, taking and auditing of a place fail and recover together. */
const concernOf = (loop: LoopName): LoopName => (loop === 'take' || loop === 'audit' ? 'read' : loop);

const kindOf = (type: RillkitEvent['type'], parts: readonly string[]): string => JSON.stringify([type, ...parts]);
const placeOf = ({ stream = '', group = '' }: MaybeAt): readonly string[] => [stream, group];
const at = ({ stream, group }: MaybeAt): string => (stream === undefined || group === undefined ? '' : `{${stream} → ${group}} `);
const messages = (count: number): string => (count === 1 ? '1 message' : `${count} messages`);
const shown = (ids: readonly string[]): string => ids.slice(0, IDS_SHOWN).join(', ') + (ids.length > IDS_SHOWN ? ', …' : '');

const throttled = (level: Level, event: RillkitEvent, parts: readonly string[], text: string): Line => ({
  level,
  text,
  kind: kindOf(event.type, parts),
});

/** Without Redis every loop fails: that is told once, by the connection. Other troubles wait for somebody to mend them, or pass by themselves. */
function levelOf({ loop, error }: EventOf<'loopFailed'>): Level {
  if (loop !== 'connection' && isStoreFault(error, 'unavailable', 'interrupted')) return 'debug';
  return isStoreFault(error, 'unavailable', 'interrupted', 'readOnly', 'noGroup') ? 'warn' : 'error';
}

function handled(event: EventOf<'handled'>): Line | null {
  if (event.outcome !== 'retried' || event.error === undefined) return null;
  const parts = [...placeOf(event), errorName(event.error)];
  return throttled('warn', event, parts, `${at(event)}attempt ${event.attempt} of ${event.id} failed, to run again: ${told(event.error)}`);
}

function deadLettered(event: EventOf<'deadLettered'>): string {
  const why = event.error === undefined ? '' : `: ${told(event.error)}`;
  return `${at(event)}${event.id} was given up after ${event.attempts} attempts (${event.reason})${why}`;
}

function handedBack(event: EventOf<'handedBack'>): Line | null {
  const text = `${at(event)}${messages(event.count)} handed back (${event.why}).`;
  switch (event.why) {
    case 'shutdown':
      return { level: 'log', text };
    case 'leaseLost':
    case 'audit':
    case 'stillRunning':
      return throttled('warn', event, [...placeOf(event), event.why], text);
    case 'stalled':
      return throttled('debug', event, [...placeOf(event), event.why], text);
    case 'handler':
      break;
  }
  return null;
}

function scanned(event: EventOf<'scanned'>): Line | null {
  if (event.foreign === 0 && event.repaired === 0) return null;
  return throttled(
    'warn',
    event,
    placeOf(event),
    `${at(event)}${messages(event.foreign)} taken over from workers that have no lease, ${event.repaired} missing rows of parked ones added.`,
  );
}

function groupMade(event: EventOf<'groupMade'>): Line {
  if (!event.again) return { level: 'log', text: `${at(event)}group made, reading from ${event.from}.` };
  return throttled(
    'warn',
    event,
    placeOf(event),
    `${at(event)}the group was gone and was made again, reading from ${event.from}: what was pending in it is not known any more.`,
  );
}
