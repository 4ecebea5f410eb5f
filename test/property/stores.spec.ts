import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { seedOfRun } from '../support/random.js';
import { uniqueName } from '../support/redis-server.js';
import { openStore, type OpenedStore } from '../support/redis-store.js';
import { sequence } from './operations.js';
import { runSideBySide, type Tally } from './side-by-side.js';

/** How many sequences: `SEQUENCES=100000 SEED=1 npm run property` for more. */
const SEQUENCES = Number(process.env['SEQUENCES'] ?? 1_000);
const SEED = seedOfRun();

/** What any thousand sequences come upon; each of these has its own way through the code. */
const SEEN_BY_ALL = [
  'ack: ok',
  'ack: fenced',
  'retry: ok',
  'retry: lost',
  'release: ok',
  'release: lost',
  'bury: ok',
  'bury: lost',
  'bury: fenced',
  'take: some',
  'take: none',
  'take: none, lost',
  'take: noGroup',
  'read: some',
  'read: noGroup',
  'replay: replayed',
  'replay: gone',
  'beat: taken',
  'beat: beaten, before none, scan true',
  'beat: beaten, before live, scan false',
  'beat: beaten, before over, scan true',
  'beat: beaten, before live, scan false, over',
  'recover: alive, parked 0',
  'recover: parked, parked 0',
  'recover: buried, parked 0',
  'recover: more, parked some',
  'signOff: done, parked some',
  'signOff: left, parked some',
  'signOff: more, parked some',
  'scan: noGroup',
  'scan: foreign some, repaired 0',
  'scan: foreign some, repaired 0, lost',
  'scan: foreign 0, repaired 0',
  'locate: running',
  'locate: settled',
  'locate: waiting',
  'locate: gone',
  'stats: undelivered ?, parked 0',
  'stats: undelivered some, parked some',
];

describe('memory, beside Redis', () => {
  let opened: OpenedStore;
  const name = uniqueName('beside');
  const tally: Tally = new Map();
  let runs = 0;

  beforeAll(async () => {
    opened = await openStore(inject('redisUrl'));
  });
  afterAll(async () => {
    console.info(`memory beside Redis: ${runs} sequences, ${[...tally.values()].reduce((a, b) => a + b, 0)} outcomes, seed ${SEED}`);
    await opened.close();
  });

  it(`does the same, over ${SEQUENCES} sequences`, { timeout: 60_000 + SEQUENCES * 200 }, async () => {
    await fc.assert(
      fc.asyncProperty(sequence, async (operations) => {
        runs += 1;
        await runSideBySide(opened, `${name}-${runs}`, operations, tally);
      }),
      { numRuns: SEQUENCES, seed: SEED | 0 },
    );
    const unseen = SEEN_BY_ALL.filter((kind) => !tally.has(kind));
    expect(SEQUENCES < 1_000 ? [] : unseen).toEqual([]);
  });
});
