import { expect, it } from 'vitest';
import { newMessageId } from '../../lib/broker/message-id.js';

it('a message id that we make is a UUID of version 7, rises with time, and comes once', () => {
  const ids = Array.from({ length: 10_000 }, (_, at) => newMessageId(1_700_000_000_000.7 + at));
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(Array.from({ length: 10_000 }, () => newMessageId(5)))).toHaveProperty('size', 10_000);
  expect(parseInt(newMessageId(1_700_000_000_000).replace('-', '').slice(0, 12), 16)).toBe(1_700_000_000_000);
});
