import { RillkitEvents } from '../../lib/rillkit.events.js';
import { MemoryStore } from '../../lib/store/memory/memory-store.js';
import type { StreamStore } from '../../lib/store/stream-store.js';
import type { StoreUnderTest } from '../contract/store-suite.js';
import { ManualClock } from './manual-clock.js';
import { uniqueName } from './redis-server.js';

export interface OpenedMemory extends StoreUnderTest {
  readonly memory: MemoryStore;
  readonly clock: ManualClock;
}

/** A memory store with a clock of the test's own, and what tests see and do beside the port. */
export function openMemory(): OpenedMemory {
  const clock = new ManualClock();
  const memory = new MemoryStore();
  const events = new RillkitEvents((error) => {
    throw error;
  });
  const doors: StreamStore[] = [];
  const open = (): StreamStore => {
    const door = memory.open({ clock, events });
    door.start();
    doors.push(door);
    return door;
  };
  const store = open();
  return {
    memory,
    clock,
    store,
    another: async () => open(),
    newStream: async () => uniqueName(),
    deleteEntries: async (stream, ids) => memory.server.run(clock, (data) => void data.streamOf({ stream, group: '' })?.delete(ids)),
    dropGroup: async (place) => memory.server.run(clock, (data) => data.destroyGroup(place)),
    endLease: async (place, worker, inMs) => memory.server.run(clock, (data, nowMs) => data.leases(place).set(worker, nowMs + inMs)),
    pause: async (place) => memory.server.run(clock, (data) => data.leases(place).set('~pause', 1)),
    dropRow: async (place, id) => memory.server.run(clock, (data) => data.parked(place).remove(id)),
    left: async (place) =>
      memory.server.run(clock, (data) => {
        const group = data.streamOf(place)?.groups.get(place.group);
        return {
          leases: data
            .leases(place)
            .all()
            .map(({ name }) => name),
          parked: data
            .parked(place)
            .all()
            .map(({ name }) => name),
          consumers:
            group
              ?.holders()
              .map(({ name }) => name)
              .toSorted() ?? [],
        };
      }),
    pass: (ms) => clock.advance(ms),
    now: async () => clock.wallMs(),
    close: async () => void (await Promise.all(doors.map((door) => door.close()))),
  };
}
