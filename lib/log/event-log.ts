import type { Clock } from '../clock.js';
import type { RillkitEvent, RillkitEvents } from '../rillkit.events.js';
import { endedBy, lineOf, type Level } from './lines.js';
import { Throttle } from './throttle.js';

/** While a state lasts, one line of a kind is told in this time, milliseconds. */
export const LINE_PERIOD_MS = 10_000;

/** Where lines go: Nest's logger, in an application. */
export type LogSink = Readonly<Record<Level, (text: string) => void>>;

const TOLD: readonly RillkitEvent['type'][] = [
  'publishFailed',
  'handled',
  'deadLettered',
  'deadLetterRefused',
  'handedBack',
  'fenced',
  'lost',
  'recovered',
  'buried',
  'scanned',
  'leaseLost',
  'leaseRegained',
  'nameTaken',
  'groupMade',
  'consuming',
  'abandoned',
  'connected',
  'disconnected',
  'loopFailed',
  'loopRecovered',
  'callbackFailed',
  'unboundedStream',
  'keptInMemory',
];

const BEGINNINGS: ReadonlySet<RillkitEvent['type']> = new Set(['loopFailed', 'disconnected']);

/** Tells what happens as log lines: one when something changes, few while it stays so. */
export class EventLog {
  private readonly throttle: Throttle;
  /** Told troubles whose end has not come. */
  private readonly begun = new Set<string>();

  constructor(private readonly deps: { readonly events: RillkitEvents; readonly clock: Clock; readonly sink: LogSink }) {
    this.throttle = new Throttle(deps.clock, LINE_PERIOD_MS);
  }

  /** Listens until the answered function is called. */
  start(): () => void {
    const ends = TOLD.map((type) => this.deps.events.on(type, (event) => this.tell(event)));
    return () => ends.forEach((end) => end());
  }

  private tell(event: RillkitEvent): void {
    const ended = endedBy(event);
    if (ended !== null && !this.begun.delete(ended)) return;
    const line = lineOf(event);
    if (!line) return;
    const held = line.kind === undefined ? 0 : this.throttle.admit(line.kind);
    if (held === null) return;
    if (line.kind !== undefined && line.level !== 'debug' && BEGINNINGS.has(event.type)) this.begun.add(line.kind);
    this.deps.sink[line.level](held === 0 ? line.text : `${line.text} (and ${held} more like it before)`);
  }
}
