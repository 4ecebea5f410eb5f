import { Stream } from '@rillkit/nestjs';
import { z } from 'zod';

export const OrderSchema = z.object({
  id: z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, - or _'),
  total: z.number().positive(),
  /** How its billing is to go, so that each way can be tried. */
  outcome: z.enum(['succeed', 'failTwice', 'fail', 'reject']).default('succeed'),
});

export type Order = z.output<typeof OrderSchema>;

/** Every order placed. Checked by the schema when it is published and again when it is read. */
export const Orders = new Stream('orders', { schema: OrderSchema, maxLen: 100_000 });
