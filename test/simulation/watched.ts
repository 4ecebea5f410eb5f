import type { MemoryStore } from '../../lib/store/memory/memory-store.js';
import type { EntryId, Place, StreamStore } from '../../lib/store/stream-store.js';

interface Owned {
  readonly consumer: string;
  readonly number: number;
}

/**
 * A door whose calls are looked at where they are carried out: a settlement may change only what is its worker's under that very number, a
 * take only what is parked. That is the fence, whatever comes of breaking it.
 */
export function watched(door: StreamStore, server: MemoryStore, place: Place, onWrong: (what: string) => void): StreamStore {
  const owned = (): Map<EntryId, Owned> => {
    const pending = server.server.data.streamOf(place)?.groups.get(place.group)?.pending ?? [];
    return new Map([...pending].map(({ id, consumer, number }) => [id, { consumer, number }]));
  };
  const settle: StreamStore['settle'] = async (at, worker, maxHandBacks, settlements) => {
    const before = owned();
    const answers = await door.settle(at, worker, maxHandBacks, settlements);
    for (const [index, { id, number, op }] of settlements.entries()) {
      const owner = before.get(id);
      if (answers[index]?.is !== 'ok' || (owner?.consumer === worker && owner.number === number)) continue;
      onWrong(
        `${op} of ${id} (${number}) by ${worker} was carried out, but it belongs to ${owner?.consumer ?? 'nobody'} (${owner?.number ?? 0})`,
      );
    }
    return answers;
  };
  const bury: StreamStore['bury'] = async (at, worker, burial) => {
    const owner = owned().get(burial.id);
    const answer = await door.bury(at, worker, burial);
    if (answer.is === 'ok' && (owner?.consumer !== worker || owner.number !== burial.number))
      onWrong(`${worker} gave ${burial.id} up, which is not its own`);
    return answer;
  };
  const take: StreamStore['take'] = async (at, worker, count) => {
    const before = owned();
    const taken = await door.take(at, worker, count);
    for (const { id } of taken.messages) {
      const owner = before.get(id)?.consumer;
      if (owner !== '~parked') onWrong(`${worker} took ${id}, which belongs to ${owner ?? 'nobody'}`);
    }
    return taken;
  };
  return new Proxy(door, {
    get(target, name) {
      if (name === 'settle') return settle;
      if (name === 'bury') return bury;
      if (name === 'take') return take;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
