import { describe, expect, it } from 'vitest';
import { json } from '../../lib/broker/codec-json.js';
import type { Clock } from '../../lib/clock.js';
import { EventLog, LINE_PERIOD_MS, type LogSink } from '../../lib/log/event-log.js';
import { nestSink } from '../../lib/log/nest-sink.js';
import { told } from '../../lib/log/told.js';
import { BodyError, StoreError } from '../../lib/rillkit.errors.js';
import { RillkitEvents, type RillkitEvent } from '../../lib/rillkit.events.js';

const at = { stream: 'orders', group: 'billing' };

function setup(events = new RillkitEvents()) {
  let nowMs = 0;
  const clock: Clock = {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    after: () => () => {},
    endOfTurn: (run) => run(),
    jitter: () => 0,
  };
  const lines: string[] = [];
  const into =
    (level: string) =>
    (text: string): void =>
      void lines.push(`${level} ${text}`);
  const sink: LogSink = { log: into('log'), warn: into('warn'), error: into('error'), debug: into('debug') };
  const stop = new EventLog({ events, clock, sink }).start();
  const emit = (...all: RillkitEvent[]): readonly string[] => {
    for (const event of all) events.emit(event);
    return lines.splice(0);
  };
  return { emit, stop, pass: (ms: number) => void (nowMs += ms) };
}

const away = new StoreError('Connection is closed.', 'unavailable', 'unknown');
const readOnly = new StoreError('READONLY You cannot write', 'readOnly', 'no');
const failed = (failures: number, error: unknown = readOnly): RillkitEvent => ({
  type: 'loopFailed',
  loop: 'read',
  error,
  failures,
  ...at,
});
const well = (failures: number): RillkitEvent => ({ type: 'loopRecovered', loop: 'read', failures, ...at });

const broken = (): never => {
  throw new Error('disk full');
};

function thrownBy(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}

describe('the event log', () => {
  it('tells a failing loop at once, then once a period with the count, and once when it is well again', () => {
    const { emit, pass } = setup();
    expect(emit(failed(1))).toEqual([
      'warn {orders → billing} read failed and goes on (1 in a row): StoreError: READONLY You cannot write',
    ]);
    for (let ms = 0; ms < LINE_PERIOD_MS - 500; ms += 500) {
      pass(500);
      expect(emit(failed(2))).toEqual([]);
    }
    pass(500);
    expect(emit(failed(21))).toEqual([
      'warn {orders → billing} read failed and goes on (21 in a row): StoreError: READONLY You cannot write (and 19 more like it before)',
    ]);
    expect(emit(well(21))).toEqual(['log {orders → billing} read works again, after 21 failures in a row.']);
    expect(emit(well(1))).toEqual([]);
  });

  it('does not get talkative when a loop fails and recovers all the time', () => {
    const { emit, pass } = setup();
    const lines: string[] = [];
    for (let ms = 0; ms < 60_000; ms += 100) {
      lines.push(...emit(failed(1), well(1)));
      pass(100);
    }
    expect(lines.length).toBe(2 * 6);
  });

  it('tells the troubles of two places apart', () => {
    const { emit } = setup();
    const elsewhere: RillkitEvent = { type: 'loopFailed', loop: 'read', error: readOnly, failures: 1, stream: 'orders', group: 'audit' };
    expect(emit(failed(1), elsewhere)).toHaveLength(2);
  });

  it('warns of what heals itself, and calls what needs somebody an error', () => {
    const wrongType = new StoreError('WRONGTYPE Operation against a key', 'wrongType', 'no');
    expect(setup().emit(failed(1, wrongType))[0]).toMatch(/^error .*WRONGTYPE/);
    expect(setup().emit({ type: 'lost', count: 3, ...at })[0]).toMatch(/^error .* 3 messages lost/);
    expect(setup().emit({ type: 'recovered', worker: 'w1', count: 1, ...at })[0]).toMatch(
      /^warn .*worker "w1" is dead; 1 message handed on/,
    );
    expect(setup().emit({ type: 'groupMade', again: true, from: 'beginning', ...at })[0]).toMatch(/^warn /);
    expect(setup().emit({ type: 'groupMade', again: false, from: 'beginning', ...at })[0]).toMatch(/^log /);
  });

  it('leaves it to the connection to say that Redis is away', () => {
    const { emit } = setup();
    expect(emit(failed(1, away), well(1))).toEqual([expect.stringMatching(/^debug /)]);
    expect(emit({ type: 'loopFailed', loop: 'connection', error: away, failures: 1 })).toEqual([
      'warn connection failed and goes on (1 in a row): StoreError: Connection is closed.',
    ]);
  });

  it('tells the end of a disconnection only where it told the beginning', () => {
    const { emit } = setup();
    const gone: RillkitEvent = { type: 'disconnected', connection: 'commands', error: away };
    const back: RillkitEvent = { type: 'connected', connection: 'commands', again: true };
    expect(emit({ ...back, again: false })).toEqual(['debug Redis is connected (commands).']);
    expect(emit(gone, back)).toHaveLength(2);
    expect(emit(gone, back)).toEqual([]);
  });

  it('says nothing of what goes well, message by message', () => {
    const { emit } = setup();
    expect(
      emit(
        { type: 'published', stream: 'orders', count: 1 },
        { type: 'settled', count: 1, ...at },
        { type: 'handled', outcome: 'acked', durationMs: 1, id: '1-0', attempt: 1, ...at },
        { type: 'scanned', foreign: 0, repaired: 0, ...at },
      ),
    ).toEqual([]);
  });

  it('tells why an attempt failed and why a message was given up, bounded, on one line, without passwords', () => {
    const { emit } = setup();
    const error = new Error(`connect redis://me:secret@host:6379\n${'x'.repeat(1_000_000)}`);
    const [retried = '', dead = ''] = emit(
      { type: 'handled', outcome: 'retried', durationMs: 1, id: '1-0', attempt: 1, error, ...at },
      { type: 'deadLettered', id: '1-0', reason: 'retries', attempts: 4, error, ...at },
    );
    expect(retried).toMatch(
      /^warn \{orders → billing} attempt 1 of 1-0 failed, to run again: Error: connect redis:\/\/\*\*\*@host:6379 xxx/,
    );
    expect(dead).toMatch(/^warn \{orders → billing} 1-0 was given up after 4 attempts \(retries\): Error: /);
    for (const line of [retried, dead]) {
      expect(line.length).toBeLessThan(1_500);
      expect(line).not.toMatch(/secret|\n/);
    }
  });

  it.each([
    ['a slash', 'redis://me:sec/ret@host:6379 x', 'redis://***@host:6379 x'],
    ['an @', 'redis://me:sec@ret@host:6379 x', 'redis://***@host:6379 x'],
    ['no user', 'from rediss://:secret@host/0', 'from rediss://***@host/0'],
    ['two URLs', 'redis://me:sec@a and redis://me:ret@b', 'redis://***@a and redis://***@b'],
    ['no credentials', 'see https://a.example/@b and http://localhost:80/@c', 'see https://a.example/@b and http://localhost:80/@c'],
  ])('shows no password with %s', (_what, text, shown) => {
    expect(told(new Error(text))).toBe(`Error: ${shown}`);
  });

  it('shows no password that the bound of the text has cut off from its host', () => {
    for (let before = 990; before < 1_030; before += 1) {
      expect(told(new Error(`${'x'.repeat(before)} redis://me:secret@host:6379 and more`))).not.toMatch(/me:s/);
    }
  });

  it('quotes nothing of a body or headers that are no JSON', () => {
    const fields = { body: [['body', Buffer.from('{"card":secret}')]], headers: [['headers', Buffer.from('secret')]] } as const;
    for (const one of Object.values(fields)) {
      const error = thrownBy(() => json.decode(one));
      expect(error).toBeInstanceOf(BodyError);
      expect(setup().emit({ type: 'deadLettered', id: '1-0', reason: 'undecodable', attempts: 1, error, ...at })).toEqual([
        expect.not.stringContaining('secret'),
      ]);
    }
  });

  it('is silent once it is stopped', () => {
    const { emit, stop } = setup();
    stop();
    expect(emit(failed(1))).toEqual([]);
  });

  it('L6 disturbs nobody with a logger that throws', () => {
    const sink = nestSink({ log: broken, warn: broken, error: broken, debug: broken });
    const events = new RillkitEvents((error) => sink.error(String(error)));
    const { stop } = setup(events);
    events.on('lost', broken);
    expect(() => events.emit({ type: 'lost', count: 1, ...at })).not.toThrow();
    expect(() => sink.log('x')).not.toThrow();
    stop();
  });
});
