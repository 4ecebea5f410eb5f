import { Stream } from '@rillkit/nestjs';
import { z } from 'zod';

const OrderSchema = z.object({ id: z.string(), total: z.number().positive(), currency: z.string().default('EUR') });

export type Order = z.output<typeof OrderSchema>;
export const Orders = new Stream('orders', { schema: OrderSchema, maxLen: 100_000 });
