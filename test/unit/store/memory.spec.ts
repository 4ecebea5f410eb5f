import { describe, expect, it } from 'vitest';
import { RillkitEvents, type RillkitEvent } from '../../../lib/rillkit.events.js';
import { MemoryStore } from '../../../lib/store/memory/memory-store.js';
import type { Fields } from '../../../lib/store/stream-store.js';
import { ManualClock } from '../../support/manual-clock.js';
import { openMemory } from '../../support/memory-store.js';

const place = { stream: 'orders', group: 'billing' };
const body = (text: string): Fields => [['body', Buffer.from(text)]];
const WAIT = { waitMs: 1_000 };

describe('what a memory store keeps', () => {
  it("is nobody else's: bytes are copied on the way in and out", async () => {
    const { store } = openMemory();
    await store.ensureGroup(place, 'beginning');
    const given = Buffer.from('as it was');
    await store.append('orders', [['body', given]], WAIT);
    given.fill('x');
    const [read] = await store.read(place, 'w1', 1);
    expect(read?.fields).toEqual(body('as it was'));
    read?.fields[0]?.[1].fill('y');
    await store.settle(place, 'w1', 8, [{ id: read?.id ?? '', number: 1, op: 'retry', delayMs: 0 }]);
    expect((await store.take(place, 'w1', 1)).messages[0]?.fields).toEqual(body('as it was'));
  });

  it('gets ids by the clock, which rise even when it goes back', async () => {
    const { store, clock } = openMemory();
    const now = clock.wallMs();
    const ids = [await store.append('orders', body('1'), WAIT), await store.append('orders', body('2'), WAIT)];
    clock.jumpWall(-60_000);
    for (let i = 0; i < 9; i += 1) ids.push(await store.append('orders', body('3'), WAIT));
    clock.jumpWall(60_001);
    ids.push(await store.append('orders', body('4'), WAIT));
    expect(ids).toEqual([...Array.from({ length: 11 }, (_, i) => `${now}-${i}`), `${now + 1}-0`]);
  });

  it('falls due and runs out when its clock is turned, by nothing else', async () => {
    const { store, clock } = openMemory();
    await store.ensureGroup(place, 'beginning');
    await store.append('orders', body('1'), WAIT);
    const [message] = await store.read(place, 'w1', 1);
    await store.settle(place, 'w1', 8, [{ id: message?.id ?? '', number: 1, op: 'retry', delayMs: 30_000 }]);
    const beat = { ...place, worker: 'w1', tag: 1, leaseMs: 6_000, scanMs: 10_000, since: null, takeOver: false };
    await store.beat([beat]);
    await clock.advance(6_000);
    expect(await store.workers(place)).toEqual(['w1']);
    await clock.advance(1);
    expect(await store.workers(place)).toEqual([]);
    await clock.advance(23_998);
    expect(await store.take(place, 'w1', 1)).toEqual({ messages: [], lost: [], nextDueMs: 1 });
    await clock.advance(1);
    expect((await store.take(place, 'w1', 1)).messages).toHaveLength(1);
  });

  it('goes by a clock of its own, where it has one', async () => {
    const own = new ManualClock();
    own.jumpWall(5_000);
    const store = new MemoryStore({ clock: own }).open({ clock: new ManualClock(), events: new RillkitEvents() });
    store.start();
    expect(await store.append('orders', body('1'), WAIT)).toBe(`${own.wallMs()}-0`);
  });

  it('has heartbeats that end, and leaves no trace of them', async () => {
    const { store, memory, clock } = openMemory();
    const key = 'rillkit:workers:orders:billing:w1';
    const seen = (): readonly string[] => memory.server.data.heartbeatsAt(clock.wallMs());
    await store.heartbeat([{ ...place, worker: 'w1' }], 60_000);
    await clock.advance(59_999);
    expect(seen()).toEqual([key]);
    await store.heartbeat([{ ...place, worker: 'w1' }], 60_000);
    await clock.advance(60_000);
    expect(seen()).toEqual([]);
    await store.heartbeat([{ ...place, worker: 'w2' }], 60_000);
    await store.heartbeat([{ ...place, worker: 'w2' }], 0);
    expect(seen()).toEqual([]);
  });

  it('is trimmed approximately by whole hundreds', async () => {
    const { store } = openMemory();
    for (let i = 0; i < 250; i += 1) await store.append('orders', body(String(i)), { ...WAIT, trim: { maxLen: 10, approximate: true } });
    expect((await store.stats(place)).length).toBe(50);
  });

  it('can be taken back to an earlier state, as often as wanted; who waits loses the connection', async () => {
    const { store, memory, left } = openMemory();
    await store.ensureGroup(place, 'beginning');
    for (const text of ['1', '2', '3']) await store.append('orders', body(text), WAIT);
    const [first, second] = await store.read(place, 'w1', 2);
    await store.settle(place, 'w1', 8, [{ id: first?.id ?? '', number: 1, op: 'retry', delayMs: 0 }]);
    const beat = { ...place, worker: 'w1', tag: 1, leaseMs: 6_000, scanMs: 10_000, since: null, takeOver: false };
    await store.beat([beat]);
    const state = async () => ({ ...(await left(place)), ...(await store.stats(place)), own: await store.pendingOf(place, 'w1', null, 9) });
    const before = await state();
    const rollBack = memory.server.snapshot();
    for (let round = 0; round < 2; round += 1) {
      await store.take(place, 'w2', 1);
      await store.settle(place, 'w1', 8, [{ id: second?.id ?? '', number: 1, op: 'ack' }]);
      await store.read(place, 'w1', 1);
      await store.signOff(place, 'w1', { count: 10, maxHandBacks: 8, sure: true });
      const read = store.openReader('r').read({ group: 'billing', worker: 'w1', streams: ['orders'], count: 1, blockMs: 5_000 });
      expect(await state()).not.toEqual(before);
      rollBack();
      await expect(read).rejects.toMatchObject({ fault: 'unavailable', applied: 'unknown' });
      expect(await state()).toEqual(before);
      expect((await store.stats(place)).undelivered).toBe(1);
    }
  });

  it('can be forgotten as a whole; who waits hears of it', async () => {
    const { store, memory } = openMemory();
    await store.ensureGroup(place, 'beginning');
    const reader = store.openReader('r');
    const read = reader.read({ group: 'billing', worker: 'w1', streams: ['orders'], count: 1, blockMs: 5_000 });
    memory.clear();
    await expect(read).rejects.toMatchObject({ fault: 'noGroup' });
    expect(await store.stats(place)).toMatchObject({ length: 0, pending: 0 });
  });
});

describe('a door to a memory store', () => {
  it('is used after its start and before its end; the store outlives it', async () => {
    const clock = new ManualClock();
    const events = new RillkitEvents();
    const seen: RillkitEvent[] = [];
    events.on('keptInMemory', (event) => seen.push(event));
    const memory = new MemoryStore();
    const store = memory.open({ clock, events });
    expect(store.state).toBe('idle');
    const unavailable = { fault: 'unavailable', applied: 'no' };
    await expect(store.ping()).rejects.toMatchObject(unavailable);
    const waiting = store.append('orders', body('1'), WAIT);
    const tooLong = store.ready(100);
    await clock.advance(100);
    expect(await tooLong).toBe(false);
    store.start();
    store.start();
    expect(await waiting).toMatch(/-0$/);
    expect(seen).toHaveLength(1);
    await store.close();
    await store.close();
    expect(await store.ready(1_000)).toBe(false);
    await expect(store.append('orders', body('2'), WAIT)).rejects.toMatchObject(unavailable);
    const other = memory.open({ clock, events });
    other.start();
    expect((await other.stats(place)).length).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });
});
