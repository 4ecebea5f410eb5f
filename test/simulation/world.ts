import type { Clock } from '../../lib/clock.js';
import { fixed } from '../../lib/consumer/backoff.js';
import { RejectMessage, type Message } from '../../lib/handlers/message.js';
import { RillkitEvents } from '../../lib/rillkit.events.js';
import type { StreamHandlerOptions } from '../../lib/rillkit.options.js';
import { MemoryStore } from '../../lib/store/memory/memory-store.js';
import type { EntryId, Place } from '../../lib/store/stream-store.js';
import { Chance } from './chance.js';
import { Invariants } from './invariants.js';
import { Ledger, type Run } from './ledger.js';
import type { Weather } from './network.js';
import { Scheduler } from './scheduler.js';
import { ABORT_MS, BEAT_MS, GRACE_MS, LEASE_MS, SimProcess } from './sim-process.js';

/** The longest that a shutdown may take: grace, abort, a second to sign off, and a little for what is on its way. */
const STOP_MS = GRACE_MS + ABORT_MS + 1_000 + 100;
const FOREIGNER = 'foreigner';
/** What was taken from a worker this long ago explains no fence any more, milliseconds: freezes and outages are shorter. */
const LONGEST_MEMORY_MS = 60_000;

/** One world with its own chance: a server, a stream, some processes, and what happens to them. */
export class World {
  readonly scheduler = new Scheduler();
  readonly chance: Chance;
  readonly ledger = new Ledger();
  readonly place: Place = { stream: 's', group: 'g' };
  readonly history: string[] = [];
  readonly processes: SimProcess[] = [];
  readonly invariants: Invariants;
  failure: string | null = null;
  /** How bad the network is now. */
  current: Weather = FAIR;

  private readonly memory: MemoryStore;
  private readonly handler: StreamHandlerOptions;
  private readonly blockMs: number;
  private readonly serverSide: Clock;
  private serverShiftMs = 0;
  private made = 0;
  private readonly poisons = new Set<EntryId>();
  /** When something of a worker was last handed on. */
  private readonly recoveredMs = new Map<string, number>();

  constructor(readonly seed: number) {
    this.chance = new Chance(seed);
    const { scheduler, chance } = this;
    this.serverSide = {
      wallMs: () => 1_700_000_000_000 + scheduler.nowMs + this.serverShiftMs,
      monotonicMs: () => scheduler.nowMs,
      after: (ms, run) => scheduler.in(ms, run),
      endOfTurn: (run) => void scheduler.in(0, run),
      jitter: () => 0,
    };
    this.memory = new MemoryStore({ clock: this.serverSide });
    this.invariants = new Invariants(this.memory, this.place);
    // Longer than a lease too: then a read outlives its worker.
    this.blockMs = chance.pick([1_000, 5_000, 25_000]) ?? 5_000;
    this.handler = {
      backoff: fixed(chance.pick([0, 20, 300]) ?? 300),
      concurrency: chance.whole(1, 4),
      maxRetries: chance.whole(0, 3),
      maxHandBacks: chance.pick([0, 2, 8]),
      count: chance.pick([1, 3, 100]),
      timeoutMs: chance.is(0.3) ? 4_000 : undefined,
      claimIdleMs: 15_000,
    };
  }

  say(line: string): void {
    this.history.push(`${(this.scheduler.nowMs / 1_000).toFixed(3).padStart(9)}  ${line}`);
  }

  fail(what: string): void {
    if (this.failure !== null) return;
    this.failure = what;
    this.say(`BROKEN: ${what}`);
  }

  get alive(): readonly SimProcess[] {
    return this.processes.filter((one) => one.isAlive && !one.stopping);
  }

  startProcess(): void {
    const { scheduler, chance, memory, serverSide, place, handler } = this;
    this.made += 1;
    const process = new SimProcess({
      world: { scheduler, chance, weather: () => this.current },
      server: memory,
      serverSide,
      place,
      worker: `w${this.made}`,
      skewMs: chance.between(-30_000, 30_000),
      blockMs: this.blockMs,
      onWrong: (what) => this.fail(what),
      handler,
      handle: (message, self) => this.handle(message, self),
    });
    this.processes.push(process);
    this.watch(process);
    process.start();
    this.say(`${process.worker} starts`);
  }

  async publish(): Promise<void> {
    const body = Buffer.from('{}');
    const id = await this.direct((store) => store.append(this.place.stream, [['body', body]], { waitMs: 1 }));
    this.ledger.published.push(id);
    if (this.chance.is(0.02)) this.poisons.add(id);
  }

  /** Something bad, or at least unusual, happens. */
  misfortune(): void {
    const { chance, alive, scheduler } = this;
    const victim = chance.pick(alive);
    const kind = chance.next();
    if (!victim || kind < 0.12) return void (alive.length < 4 && this.startProcess());
    if (kind < 0.26) return this.kill(victim);
    if (kind < 0.42) return this.freeze(victim, chance.pick([500, 3_000, 7_000, 20_000]) ?? 0);
    if (kind < 0.58) {
      victim.lastHarmMs = scheduler.nowMs;
      victim.store.cut();
      return this.say(`${victim.worker} loses its connections`);
    }
    if (kind < 0.66) return void this.stop(victim);
    if (kind < 0.73) return this.outage(chance.pick([300, 2_000, 5_000, 9_000, 30_000]) ?? 0);
    if (kind < 0.79) return this.jump(chance.pick([-30_000, -1_000, 1_000, 30_000, 3_600_000]) ?? 0);
    if (kind < 0.85) return this.foreignClaim();
    if (kind < 0.88) return this.trim();
    if (kind < 0.92) return this.destroyGroup();
    if (kind < 0.95) return this.rollBack(chance.between(200, 8_000));
    this.storm(chance.between(500, 6_000));
  }

  kill(victim: SimProcess): void {
    this.say(`${victim.worker} dies, holding ${this.heldBy(victim).join(' ') || 'nothing'}`);
    victim.die();
  }

  async stop(victim: SimProcess): Promise<void> {
    const sinceMs = this.scheduler.nowMs;
    this.say(`${victim.worker} stops`);
    let frozen = false;
    await victim.stop().then(
      () => (frozen = victim.lastHarmMs >= sinceMs),
      (error: unknown) => this.fail(`the stop of ${victim.worker} threw ${String(error)}`),
    );
    const tookMs = this.scheduler.nowMs - sinceMs;
    this.say(`${victim.worker} has stopped after ${tookMs.toFixed(0)} ms`);
    if (!frozen && tookMs > STOP_MS) this.fail(`the stop of ${victim.worker} took ${tookMs.toFixed(0)} ms`);
  }

  heldBy(process: SimProcess): EntryId[] {
    return this.invariants
      .pending()
      .filter(({ consumer }) => consumer === process.worker)
      .map(({ id }) => id);
  }

  /** Foreign consumers that may be left. */
  get foreigners(): ReadonlySet<string> {
    return new Set([FOREIGNER]);
  }

  /** Messages of dead letters, by the entry they were. */
  async deadLetters(): Promise<EntryId[]> {
    const letters = await this.direct((store) => store.deadLetters(this.place.stream, { after: null, count: 1_000 }));
    return letters.map(({ fields }) => String(fields.find(([name]) => name === 'rillkit:entry')?.[1] ?? ''));
  }

  private async handle(message: Message, process: SimProcess): Promise<void> {
    const { scheduler, chance, ledger } = this;
    const { id, number } = message;
    const run: Run = { id, number, process, atMs: scheduler.nowMs, epoch: ledger.epoch, state: 'running' };
    const wrong = ledger.start(run);
    this.say(`${process.worker} runs ${id} (${number})`);
    if (wrong) this.fail(wrong);
    if (this.poisons.has(id)) {
      this.say(`${id} kills ${process.worker}`);
      process.die();
      return;
    }
    const fate = chance.next();
    const waitMs = chance.is(0.8) ? chance.between(0, 40) : chance.pick([300, 2_000, 9_000, 20_000]);
    await new Promise<void>((resolve) => void process.machine.clock.after(waitMs ?? 0, resolve));
    // Given up on meanwhile: its late end changes nothing.
    if (run.state !== 'running') return;
    if (fate < 0.84) {
      run.state = 'returned';
      return;
    }
    run.state = fate < 0.88 ? 'rejected' : fate < 0.94 ? 'released' : 'failed';
    this.say(`${process.worker} ${run.state} ${id} (${number})`);
    if (run.state === 'rejected') throw new RejectMessage('by chance');
    if (run.state === 'failed') throw new Error('by chance');
    message.release({ delayMs: chance.pick([0, 500]) });
  }

  private watch(process: SimProcess): void {
    const { events, worker } = process;
    events.on('recovered', ({ worker: dead, count }) => {
      this.say(`${worker} recovers ${count} of ${dead}`);
      this.recoveredMs.set(dead, this.scheduler.nowMs);
      const victim = this.processes.find((one) => one.worker === dead);
      if (!victim || !victim.isAlive || victim.stopping || victim.machine.state === 'frozen') return;
      if (this.scheduler.nowMs - victim.lastHarmMs > 2 * LEASE_MS + BEAT_MS) this.fail(`${dead} is declared dead, but is alive and well`);
    });
    // Given up on while it runs: by its time limit.
    events.on('handled', ({ id, outcome }) => {
      const run = this.ledger.runs.get(id)?.findLast((one) => one.process === process);
      if (run?.state === 'running' && outcome !== 'acked') run.state = 'failed';
    });
    events.on('lost', ({ count }) => this.say(`${worker} reports ${count} lost`));
    events.on('leaseLost', () => this.say(`${worker} loses its lease`));
    events.on('leaseRegained', () => this.say(`${worker} regains its lease`));
    events.on('fenced', ({ id }) => {
      this.say(`${worker} is fenced from ${id}`);
      if (this.ledger.excused.has(id)) return;
      // Neither which delivery is meant is told, nor when it came: it may have lain in a frozen process for long.
      const takenMs = Math.max(process.lostLeaseMs, this.recoveredMs.get(worker) ?? Number.NEGATIVE_INFINITY);
      if (this.scheduler.nowMs - Math.max(takenMs, this.ledger.lostMs) < LONGEST_MEMORY_MS) return;
      this.fail(`${worker} is told that it was fenced from ${id}, although nobody took it`);
    });
    events.on('deadLettered', ({ id, reason }) => this.say(`${worker} gives ${id} up: ${reason}`));
    events.on('handedBack', ({ count, why }) => this.say(`${worker} hands ${count} back: ${why}`));
    events.on('callbackFailed', ({ error }) => this.fail(`a callback threw ${String(error)}`));
    // A call that takes longer than a lease, or a reader that cannot be told to stop, harms its process alone.
    events.on('loopFailed', () => {
      if (!this.current.outage) process.lastHarmMs = this.scheduler.nowMs;
    });
  }

  private freeze(victim: SimProcess, ms: number): void {
    const { scheduler } = this;
    this.say(`${victim.worker} freezes for ${ms} ms`);
    victim.lastHarmMs = scheduler.nowMs;
    victim.machine.freeze();
    scheduler.in(ms, () => {
      if (victim.machine.state !== 'frozen') return;
      this.say(`${victim.worker} goes on`);
      victim.lastHarmMs = scheduler.nowMs;
      victim.machine.thaw();
    });
  }

  private outage(ms: number): void {
    this.say(`the server cannot be reached for ${ms} ms`);
    this.current = { ...this.current, outage: true };
    for (const process of this.alive) process.store.cut();
    this.scheduler.in(ms, () => {
      this.say('the server is back');
      this.current = { ...this.current, outage: false };
    });
  }

  private storm(ms: number): void {
    this.say(`the network is bad for ${ms.toFixed(0)} ms`);
    this.current = { ...STORM, outage: this.current.outage };
    this.scheduler.in(ms, () => {
      this.current = { ...FAIR, outage: this.current.outage };
    });
  }

  private jump(ms: number): void {
    this.say(`the server's clock jumps by ${ms} ms`);
    this.serverShiftMs += ms;
  }

  private foreignClaim(): void {
    const target = this.chance.pick(this.invariants.pending());
    const group = this.memory.server.data.streamOf(this.place)?.groups.get(this.place.group);
    const pending = target && group?.pending.get(target.id);
    if (!group || !pending) return;
    this.say(`a foreigner takes ${pending.id} from ${pending.consumer}`);
    this.ledger.excused.add(pending.id);
    group.claim(pending, FOREIGNER, this.serverSide.wallMs(), pending.number + 1);
    if (this.chance.is(0.5)) return;
    this.scheduler.in(this.chance.between(0, 3_000), () => {
      if (group.pendingOf(FOREIGNER, pending.id)) group.remove(pending.id);
    });
  }

  private trim(): void {
    const stream = this.memory.server.data.streamOf(this.place);
    if (!stream) return;
    const before = [...stream.entries].map(({ id }) => id);
    stream.trimTo({ maxLen: Math.max(0, stream.entries.size - this.chance.whole(1, 5)), approximate: false });
    const gone = before.filter((id) => !stream.get(id));
    this.say(`trimmed: ${gone.join(' ')}`);
    for (const id of gone) this.ledger.excused.add(id);
  }

  private destroyGroup(): void {
    this.say('the group is destroyed');
    this.redisLoses(this.invariants.pending().map(({ id }) => id));
    this.memory.server.run(this.serverSide, (data) => data.destroyGroup(this.place));
  }

  /** A failover to a replica that is behind, or a restart from an older file. */
  private rollBack(ms: number): void {
    const goBack = this.memory.server.snapshot();
    const published = this.ledger.published.length;
    this.scheduler.in(ms, () => {
      this.say(`the server goes back by ${ms.toFixed(0)} ms`);
      const lost = this.ledger.published.slice(published);
      this.redisLoses([...lost, ...this.invariants.pending().map(({ id }) => id)]);
      goBack();
      for (const process of this.alive) {
        process.lastHarmMs = this.scheduler.nowMs;
        process.store.cut();
      }
    });
  }

  private redisLoses(ids: readonly EntryId[]): void {
    this.ledger.epoch += 1;
    this.ledger.lostMs = this.scheduler.nowMs;
    this.invariants.forget();
    for (const id of ids) this.ledger.excused.add(id);
  }

  /** Through a door that no network is in the way of. */
  private direct<T>(ask: (store: ReturnType<MemoryStore['open']>) => Promise<T>): Promise<T> {
    const store = this.memory.open({ clock: this.serverSide, events: NO_EVENTS });
    store.start();
    return ask(store);
  }
}

const NO_EVENTS = new RillkitEvents();

const FAIR: Weather = { latency: (chance) => chance.between(0.1, 2), cut: 0, outage: false };
const STORM: Weather = {
  latency: (chance) => (chance.is(0.05) ? chance.between(100, 1_500) : chance.between(0.1, 60)),
  cut: 0.03,
  outage: false,
};
