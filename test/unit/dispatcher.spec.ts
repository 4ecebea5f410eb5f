import { expect, it } from 'vitest';
import { Stream } from '../../lib/broker/stream.js';
import { Dispatcher } from '../../lib/consumer/dispatcher.js';
import { Due } from '../../lib/consumer/due.js';
import { ReadAhead } from '../../lib/consumer/read-ahead.js';
import { resolveHandlerOptions } from '../../lib/rillkit.options.js';
import { ManualClock } from '../support/manual-clock.js';

it('keeps a slot for what is due, also when all that waited has ended at once', async () => {
  const clock = new ManualClock();
  const stream = new Stream('orders');
  const options = resolveHandlerOptions({ prefetch: 50 }, { id: 'Test.handler', stream, defaults: {} });
  let runs = 0;
  const due: Due = new Due(clock, () => dispatcher.fill());
  const dispatcher = new Dispatcher({
    binding: { stream: 'orders', group: 'billing', definition: stream, options, invoke: () => void (runs += 1) },
    rules: options,
    worker: 'w1',
    clock,
    abortMs: 1_000,
    due,
    readAhead: new ReadAhead(options, clock),
    ends: {
      mayStart: () => true,
      settle: () => {},
      handBack: () => {},
      ackFirst: () => {},
      handled: () => {},
      changed: () => {},
      spent: () => ({ reason: 'died', error: undefined }),
    },
  });
  const fields = [['body', Buffer.from('1')] as const];
  dispatcher.read(
    [
      { id: '1-0', number: 1, fields },
      { id: '2-0', number: 1, fields },
    ],
    20,
    false,
  );
  due.in(0);
  await clock.settle();
  expect([runs, dispatcher.plan(0)]).toEqual([0, { take: 1, read: 0 }]);
  // The take brings nothing, and more falls due meanwhile: now it is the turn of what waits, and then of what is due again.
  dispatcher.taken([]);
  expect([runs, dispatcher.plan(0)]).toEqual([2, { take: 1, read: 0 }]);
});
