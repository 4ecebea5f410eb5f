import { live } from './dist/test/simulation/history.js';
const o = await live(Number(process.argv[2])); console.log(o.history.join('\n')); console.log(o.failure);
