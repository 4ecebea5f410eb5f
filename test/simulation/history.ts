import { World } from './world.js';
import { BEAT_MS, LEASE_MS } from './sim-process.js';

/** How long bad things happen, milliseconds. */
const CHAOS_MS = 25_000;
/** By when all must have ended when nothing bad happens any more, milliseconds: foreign claims lie idle first, and retries wait. */
const CALM_MS = 240_000;
/** More than this at one moment is no work, it is a loop. */
const SPIN = 5_000;
/** Long enough to bury everybody. */
const BURIAL_MS = 60_000;

export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  readonly failure: string | null;
  readonly history: readonly string[];
}

/** One history: some processes, some messages, much misfortune, then quiet, in which all must end as it should. */
export async function live(seed: number): Promise<Outcome> {
  const world = new World(seed);
  const onRejection = (error: unknown): void => world.fail(`unhandled rejection: ${String(error)}`);
  process.on('unhandledRejection', onRejection);
  try {
    await tell(world);
  } catch (error) {
    world.fail(`the simulation itself threw ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    process.off('unhandledRejection', onRejection);
  }
  return { seed, steps: world.scheduler.steps, failure: world.failure, history: world.history };
}

async function tell(world: World): Promise<void> {
  const { scheduler, chance } = world;
  const processes = chance.whole(1, 3);
  for (let n = 0; n < processes; n += 1) world.startProcess();
  for (let n = chance.whole(5, 30); n > 0; n -= 1) scheduler.in(chance.between(0, CHAOS_MS), () => void world.publish());
  for (let n = chance.whole(1, 10); n > 0; n -= 1) scheduler.in(chance.between(1_000, CHAOS_MS), () => world.misfortune());
  if (!(await until(world, () => scheduler.nowMs >= CHAOS_MS + 40_000))) return;

  world.say('quiet');
  // One that dies in the quiet, its work held up for no longer than is promised.
  while (world.alive.length < 2) world.startProcess();
  if (!(await pass(world, 3_000))) return;
  for (let n = 0; n < 4; n += 1) await world.publish();
  if (!(await pass(world, chance.between(0, 50)))) return;
  const [victim, heir] = world.alive;
  if (victim && victim.machine.state === 'running') {
    world.kill(victim);
    const held = world.heldBy(victim);
    if (!(await pass(world, LEASE_MS + BEAT_MS + 1_000))) return;
    const left = world.heldBy(victim).filter((id) => held.includes(id));
    // Poison may have killed the one who should have seen to it.
    if (left.length > 0 && heir?.isAlive)
      return world.fail(`${victim.worker} is dead for a lease, a beat and a second and still holds ${left.join(' ')}`);
  }

  const isDone = (): boolean => world.invariants.pending().length === 0 && world.invariants.undelivered() === 0;
  const endMs = scheduler.nowMs + CALM_MS;
  // Poison may have killed everybody meanwhile.
  const keeper = (): void => {
    if (isDone() || scheduler.nowMs >= endMs) return;
    if (world.alive.length === 0) world.startProcess();
    scheduler.in(2_000, keeper);
  };
  keeper();
  if (!(await until(world, () => isDone() || scheduler.nowMs >= endMs))) return;
  if (!isDone())
    return world.fail(`not done: ${JSON.stringify(world.invariants.pending())}, ${world.invariants.undelivered()} undelivered`);

  const deadLetters = await world.deadLetters();
  const unfinished = world.ledger.unfinished(new Set(deadLetters));
  if (unfinished.length > 0) return world.fail(`neither handled nor given up: ${unfinished.join(' ')}`);
  const twice = deadLetters.filter((id, at) => deadLetters.indexOf(id) !== at && !world.ledger.excused.has(id));
  if (twice.length > 0 && world.ledger.epoch === 0) return world.fail(`among the dead letters twice: ${twice.join(' ')}`);

  while (world.alive.length === 0) world.startProcess();
  if (!(await pass(world, BURIAL_MS))) return;
  const stops = world.alive.map((one) => world.stop(one));
  const stoppedMs = scheduler.nowMs + 30_000;
  if (!(await until(world, () => world.processes.every((one) => !one.isAlive) || scheduler.nowMs > stoppedMs))) return;
  const hanging = world.processes.filter((one) => one.isAlive);
  if (hanging.length > 0) return world.fail(`never stopped: ${hanging.map(({ worker }) => worker).join(', ')}`);
  await Promise.all(stops);
  const left = world.invariants.left(world.foreigners, world.ledger.epoch > 0);
  if (left) world.fail(left);
}

const pass = (world: World, ms: number): Promise<boolean> => {
  const endMs = world.scheduler.nowMs + ms;
  world.scheduler.in(ms, () => {});
  return until(world, () => world.scheduler.nowMs >= endMs);
};

/** Goes on step by step until `enough`; `false` when something is broken. */
async function until(world: World, enough: () => boolean): Promise<boolean> {
  let [atMs, since] = [world.scheduler.nowMs, world.scheduler.steps];
  while (!enough()) {
    if (!(await world.scheduler.step())) break;
    if (world.scheduler.nowMs > atMs) [atMs, since] = [world.scheduler.nowMs, world.scheduler.steps];
    else if (world.scheduler.steps - since > SPIN) world.fail(`${SPIN} things happened in no time: somebody spins`);
    const broken = world.invariants.broken();
    if (broken) world.fail(broken);
    if (world.failure !== null) return false;
  }
  return world.failure === null;
}
