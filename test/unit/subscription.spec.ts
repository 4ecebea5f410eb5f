import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.js';
import { Subscription } from '../../lib/consumer/subscription.js';
import { bind } from '../../lib/handlers/bind.js';
import { RillkitEvents } from '../../lib/rillkit.events.js';
import { resolveOptions } from '../../lib/rillkit.options.js';
import { MemoryStore } from '../../lib/store/memory/memory-store.js';

it('G2 a subscription whose reads fail has failures until a read works, whatever a take does meanwhile', () => {
  const events = new RillkitEvents();
  const recovered: string[] = [];
  events.on('loopRecovered', ({ loop, failures }) => recovered.push(`${loop} ${failures}`));
  const module = resolveOptions({ connection: 'memory', group: 'billing' });
  const store = new MemoryStore().open({ clock: systemClock, events });
  const handler = { stream: 'orders', options: {}, name: 'Billing.bill', host: undefined, invoke: () => {} };
  for (const binding of bind([handler], module)) {
    const subscription = new Subscription({ store, clock: systemClock, events, binding, worker: 'w1', module });
    const error = new Error('away');
    const took = (): void => subscription.taken({ messages: [], lost: [], nextDueMs: null });
    const read = (): void => subscription.arrived([], 1);

    subscription.failed('read', error);
    subscription.failed('take', error);
    took();
    expect(subscription.status.failures).toBe(2);
    read();
    expect(subscription.status.failures).toBe(0);

    subscription.failed('read', error);
    subscription.failed('audit', error);
    took();
    expect(subscription.status.failures).toBe(2);
    read();

    subscription.failed('audit', error);
    took();
    expect(subscription.status.failures).toBe(0);
    expect(recovered).toEqual(['read 2', 'read 2', 'audit 1']);
    subscription.stop();
  }
});
