import type { Fields } from '../stream-store.js';

/** Nobody outside holds the bytes that are kept, on the way in or out. */
export const copyOf = (fields: Fields): Fields => fields.map(([name, value]) => [name, Buffer.from(value)] as const);
