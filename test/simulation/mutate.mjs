// Breaks the library in one place at a time and shows that the simulation sees it.
//   npm run mutations -- --histories 2000
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const MUTATIONS = [
  [
    'counter taken back on release',
    'lib/store/memory/parking.js',
    '>= cap ? number : number + 999',
    '>= cap ? number : Math.max(0, number - 1)',
  ],
  ['no number check', 'lib/store/memory/settlements.js', 'group.pendingOf(worker, id)?.number === number', 'group.pendingOf(worker, id)'],
  ['no owner check in settle', 'lib/store/memory/settlements.js', 'group.pendingOf(worker, id)?.number', 'group.pending.get(id)?.number'],
  ['no owner check in take', 'lib/store/memory/parking.js', 'group.pendingOf(PARKED, id)', 'group.pending.get(id)'],
  ['consumer buried at once', 'lib/store/memory/leases.js', 'if (nowMs - endedAtMs <= graveMs)', 'if (false)'],
  [
    'audit with a read outstanding',
    'lib/consumer/group-reader.js',
    'await Promise.all(subscriptions.filter',
    'void Promise.all(subscriptions.filter',
  ],
  [
    'no grace after an outage',
    'lib/store/memory/leases.js',
    'if (last !== undefined && last <= nowMs && nowMs - last',
    'if (true || nowMs - last',
  ],
  ['a re-sent settlement taken for a new one', 'lib/consumer/settler.js', 'letter.resent = true', 'letter.resent = false'],
];

const { values } = parseArgs({ options: { histories: { type: 'string', default: '2000' } } });
const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
let survived = 0;
for (const [name, file, from, to] of MUTATIONS) {
  const dir = await mkdtemp(join(tmpdir(), 'rillkit-mutation-'));
  try {
    await cp(join(root, 'dist'), join(dir, 'dist'), { recursive: true });
    await cp(join(root, 'package.json'), join(dir, 'package.json'));
    await symlink(join(root, 'node_modules'), join(dir, 'node_modules'));
    const source = await readFile(join(dir, 'dist', file), 'utf8');
    if (!source.includes(from)) throw new Error(`${name}: ${file} has no ${from}`);
    await writeFile(join(dir, 'dist', file), source.replaceAll(from, to));
    const red = await run(process.execPath, [join(dir, 'dist/test/simulation/simulate.js'), '--histories', values.histories]).then(
      () => null,
      (error) => String(error.stdout).match(/^seed .*/m)?.[0] ?? String(error.stderr),
    );
    if (red === null) survived += 1;
    console.log(`${name}: ${red ?? `NOT SEEN in ${values.histories} histories`}`);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
process.exit(survived === 0 ? 0 : 1);
