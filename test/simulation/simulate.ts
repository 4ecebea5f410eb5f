// Lives through many histories of the real consumers over the memory store and a bad network, and checks what must always hold.
//   npm run simulate -- --histories 2000 --seed 1
import { parseArgs } from 'node:util';
import { live } from './history.js';

const { values } = parseArgs({ options: { histories: { type: 'string', default: '2000' }, seed: { type: 'string', default: '1' } } });
const histories = Number(values.histories);
const first = Number(values.seed);
const begun = performance.now();
let steps = 0;
for (let seed = first; seed < first + histories; seed += 1) {
  const outcome = await live(seed);
  steps += outcome.steps;
  if (outcome.failure === null) continue;
  console.log(shortened(outcome.history).join('\n'));
  console.log(`\nseed ${seed} is red after ${outcome.steps} steps: ${outcome.failure}`);
  console.log(`again: npm run simulate -- --histories 1 --seed ${seed}`);
  process.exit(1);
}
const seconds = (performance.now() - begun) / 1_000;
console.log(`${histories} histories from seed ${first}, ${steps} steps, none red, ${seconds.toFixed(1)} s`);

/** The end of it, and of the beginning what concerns the messages named at the end. */
function shortened(history: readonly string[]): readonly string[] {
  const last = history.at(-1) ?? '';
  const named = last.match(/\d{10,}-\d+|\bw\d+\b/g) ?? [];
  const tail = history.slice(-40);
  const before = history.slice(0, -40).filter((line) => named.some((name) => line.includes(name)));
  return [...before.slice(-60), '…', ...tail];
}
