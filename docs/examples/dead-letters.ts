import { createBroker } from '@rillkit/nestjs';
import { Orders } from './schema.js';

const broker = createBroker({ connection: 'redis://localhost:6379' });
const { replayed } = await broker.replayDlq(Orders, { group: 'billing', limit: 100 });
console.log(`${replayed.length} messages run again`);
await broker.close();
