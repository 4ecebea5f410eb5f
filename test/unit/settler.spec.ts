import { describe, expect, it } from 'vitest';
import { Settler } from '../../lib/consumer/settler.js';
import { StoreError } from '../../lib/rillkit.errors.js';
import { RillkitEvents } from '../../lib/rillkit.events.js';
import type { Settled, Settlement } from '../../lib/store/stream-store.js';
import { ManualClock } from '../support/manual-clock.js';

const away = () => new StoreError('Connection is closed.', 'unavailable', 'unknown');

/** A settler over a store that answers as the test says. */
function make(answer: (settlements: readonly Settlement[], call: number) => Settled[] | Error = (list) => list.map(() => ({ is: 'ok' }))) {
  const clock = new ManualClock();
  const calls: (readonly Settlement[])[] = [];
  const settler = new Settler({
    stream: 'orders',
    group: 'billing',
    worker: 'w1',
    maxHandBacks: 8,
    clock,
    events: new RillkitEvents(),
    store: {
      settle: async (_place, _worker, _maxHandBacks, settlements) => {
        calls.push(settlements);
        const answered = answer(settlements, calls.length);
        if (answered instanceof Error) throw answered;
        return answered;
      },
      bury: async () => ({ is: 'ok' }),
    },
  });
  const answers: [id: string, is: Settled['is'], resent: boolean][] = [];
  const ack = (id: string, number = 1) => settler.add({ id, number, op: 'ack' }, ({ is }, resent) => answers.push([id, is, resent]));
  return { clock, settler, calls, answers, ack };
}

describe('settling', () => {
  it('sends what finished in the same turn in one call', async () => {
    const { clock, calls, answers, ack } = make();
    ['1-0', '2-0', '3-0'].forEach((id) => ack(id));
    await clock.settle();
    expect(calls.map((call) => call.length)).toEqual([3]);
    expect(answers).toEqual([
      ['1-0', 'ok', false],
      ['2-0', 'ok', false],
      ['3-0', 'ok', false],
    ]);
  });

  it('keeps what is not answered and sends it again, with what came meanwhile, until it is', async () => {
    const { clock, calls, answers, settler, ack } = make((list, call) => (call <= 3 ? away() : list.map(() => ({ is: 'ok' }))));
    ack('1-0');
    await clock.settle();
    ack('2-0');
    expect(settler.unanswered).toBe(2);
    await clock.advance(5_000);
    expect(calls).toHaveLength(4);
    expect(answers).toEqual([
      ['1-0', 'ok', true],
      ['2-0', 'ok', true],
    ]);
    expect(settler.unanswered).toBe(0);
  });

  it('sends again only what was refused', async () => {
    const refused: Settled = { is: 'refused', error: new StoreError('WRONGTYPE', 'wrongType', 'no') };
    const { clock, calls, answers, ack } = make((list, call) =>
      list.map(({ id }) => (call === 1 && id === '2-0' ? refused : { is: 'ok' })),
    );
    ack('1-0');
    ack('2-0');
    await clock.advance(1_000);
    expect(calls.map((call) => call.map(({ id }) => id))).toEqual([['1-0', '2-0'], ['2-0']]);
    expect(answers).toContainEqual(['1-0', 'ok', false]);
    expect(answers).toContainEqual(['2-0', 'ok', true]);
  });

  it('knows an entry as long as one of its settlements is unanswered', async () => {
    const { clock, settler, ack } = make();
    ack('1-0', 1);
    ack('1-0', 2);
    expect([settler.unanswered, settler.known()]).toEqual([2, new Set(['1-0'])]);
    await clock.settle();
    expect([settler.unanswered, settler.known()]).toEqual([0, new Set()]);
  });

  it('waits for the last answer, or for its signal', async () => {
    const { clock, settler, ack } = make((list, call) => (call === 1 ? away() : list.map(() => ({ is: 'ok' }))));
    ack('1-0');
    let idle = false;
    void settler.idle.until(new AbortController().signal).then(() => (idle = true));
    await clock.settle();
    expect(idle).toBe(false);
    await clock.advance(1_000);
    expect(idle).toBe(true);

    ack('2-0');
    const given = new AbortController();
    const waited = settler.idle.until(given.signal);
    given.abort();
    await waited;
  });

  it('leaves no timer behind when it is stopped', async () => {
    const { clock, settler, ack } = make(() => away());
    ack('1-0');
    await clock.settle();
    settler.stop();
    await clock.settle();
    expect([clock.pendingTimers, settler.unanswered]).toEqual([0, 0]);
  });
});

describe('a settlement that never left', () => {
  it('is no second one when it is sent at last: fenced means that it came too late', async () => {
    const notSent = new StoreError('Redis is not connected.', 'unavailable', 'no');
    const { clock, answers, ack } = make((list, call) => (call === 1 ? notSent : list.map(() => ({ is: 'fenced' }))));
    ack('1-0');
    await clock.advance(5_000);
    expect(answers).toEqual([['1-0', 'fenced', false]]);
  });
});
