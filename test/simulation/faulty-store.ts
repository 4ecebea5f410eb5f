import { sleep } from '../../lib/clock.js';
import { StoreError } from '../../lib/rillkit.errors.js';
import type { BlockingReader, ConnectionState, StreamStore } from '../../lib/store/stream-store.js';
import type { Machine } from './machine.js';
import { Connection } from './network.js';

type World = ConstructorParameters<typeof Connection>[0];
type Read = BlockingReader['read'];

/** A process's way to the server: the real port, with a network in between. One connection for commands, one for each reader. */
export class FaultyStore implements StreamStore {
  readonly commands: Connection;
  readonly readers: FaultyReader[] = [];
  private readonly nudged: Connection;

  constructor(
    private readonly inner: StreamStore,
    private readonly world: World,
    private readonly machine: Machine,
  ) {
    this.commands = new Connection(world, machine);
    this.nudged = new Connection(world, machine);
  }

  get state(): ConnectionState {
    return this.commands.isUp ? 'ready' : 'waiting';
  }

  start(): void {}

  async close(): Promise<void> {
    await Promise.all(this.readers.map((reader) => reader.close()));
  }

  /** Cuts all connections of the process. */
  cut(): void {
    for (const connection of [this.commands, this.nudged, ...this.readers.map((reader) => reader.connection)]) connection.cut();
  }

  openReader(name: string): BlockingReader {
    const reader = new FaultyReader(this.inner.openReader(name), this.commands, this.world, this.machine);
    this.readers.push(reader);
    return reader;
  }

  onNudge(group: string, heard: (stream: string) => void): () => void {
    const { scheduler, chance, weather } = this.world;
    return this.inner.onNudge(group, (stream) => {
      if (this.nudged.isUp) scheduler.in(weather().latency(chance), () => this.machine.reach(() => heard(stream)));
    });
  }

  async beat(...args: Parameters<StreamStore['beat']>): ReturnType<StreamStore['beat']> {
    try {
      return await this.commands.call(() => this.inner.beat(...args));
    } catch (error) {
      if (error instanceof StoreError) return args[0].map(() => error);
      throw error;
    }
  }

  ready: StreamStore['ready'] = (waitMs) => this.commands.ready(waitMs);
  ping: StreamStore['ping'] = () => this.commands.call(() => this.inner.ping());
  append: StreamStore['append'] = (...args) => this.commands.call(() => this.inner.append(...args));
  ensureGroup: StreamStore['ensureGroup'] = (...args) => this.commands.call(() => this.inner.ensureGroup(...args));
  hasEntry: StreamStore['hasEntry'] = (...args) => this.commands.call(() => this.inner.hasEntry(...args));
  read: StreamStore['read'] = (...args) => this.commands.call(() => this.inner.read(...args));
  take: StreamStore['take'] = (...args) => this.commands.call(() => this.inner.take(...args));
  settle: StreamStore['settle'] = (...args) => this.commands.call(() => this.inner.settle(...args));
  bury: StreamStore['bury'] = (...args) => this.commands.call(() => this.inner.bury(...args));
  pendingOf: StreamStore['pendingOf'] = (...args) => this.commands.call(() => this.inner.pendingOf(...args));
  heartbeat: StreamStore['heartbeat'] = (...args) => this.commands.call(() => this.inner.heartbeat(...args));
  recover: StreamStore['recover'] = (...args) => this.commands.call(() => this.inner.recover(...args));
  signOff: StreamStore['signOff'] = (...args) => this.commands.call(() => this.inner.signOff(...args));
  scan: StreamStore['scan'] = (...args) => this.commands.call(() => this.inner.scan(...args));
  nudge: StreamStore['nudge'] = (...args) => this.commands.call(() => this.inner.nudge(...args));
  workers: StreamStore['workers'] = (...args) => this.commands.call(() => this.inner.workers(...args));
  stats: StreamStore['stats'] = (...args) => this.commands.call(() => this.inner.stats(...args));
  locate: StreamStore['locate'] = (...args) => this.commands.call(() => this.inner.locate(...args));
  deadLetters: StreamStore['deadLetters'] = (...args) => this.commands.call(() => this.inner.deadLetters(...args));
  deadLetter: StreamStore['deadLetter'] = (...args) => this.commands.call(() => this.inner.deadLetter(...args));
  countDeadLetters: StreamStore['countDeadLetters'] = (...args) => this.commands.call(() => this.inner.countDeadLetters(...args));
  removeDeadLetters: StreamStore['removeDeadLetters'] = (...args) => this.commands.call(() => this.inner.removeDeadLetters(...args));
  replay: StreamStore['replay'] = (...args) => this.commands.call(() => this.inner.replay(...args));
}

/** Blocking reads over a network. A read whose connection was cut stays at the server as a ghost, and is served there, until it is killed. */
class FaultyReader implements BlockingReader {
  readonly connection: Connection;
  private haunted = false;
  private over: Promise<unknown> = Promise.resolve();
  private isOver = true;
  /** Whether the read under way waits for its connection; `giveUp` ends that. */
  private isAwaited = false;
  private giveUp: () => void = () => {};

  constructor(
    private readonly inner: BlockingReader,
    private readonly commands: Connection,
    world: World,
    private readonly machine: Machine,
  ) {
    this.connection = new Connection(
      world,
      machine,
      () => void this.exorcise(),
      () => (this.haunted = true),
    );
  }

  async read(request: Parameters<Read>[0]): ReturnType<Read> {
    const read = this.send(request);
    const over = (): void => {
      this.isOver = true;
    };
    this.isOver = false;
    this.over = read.then(over, over);
    return read;
  }

  private async send(request: Parameters<Read>[0]): ReturnType<Read> {
    this.isAwaited = true;
    const broken = new Promise<false>((resolve) => (this.giveUp = () => resolve(false)));
    const ready = await Promise.race([this.connection.ready(request.blockMs), broken]);
    this.isAwaited = false;
    if (!ready) throw new StoreError('The reader waits for its connection.', 'unavailable', 'no');
    return this.connection.call(() => this.inner.read(request));
  }

  async interrupt(): Promise<'ended' | 'unsure'> {
    if (this.isAwaited) this.giveUp();
    while (!this.isOver && !this.isAwaited) {
      try {
        await this.commands.call(() => this.inner.interrupt());
      } catch {
        // The server cannot be told: the connection is given up, and the read with it.
        if (!this.isOver) this.connection.cut();
        break;
      }
      await Promise.race([this.over, sleep(this.machine.clock, 5)]);
    }
    await this.over;
    if (!this.haunted) return 'ended';
    try {
      await this.commands.call(() => this.exorcise());
      return 'ended';
    } catch {
      return 'unsure';
    }
  }

  async close(): Promise<void> {
    this.connection.cut();
    await this.exorcise();
  }

  private async exorcise(): Promise<void> {
    this.haunted = false;
    await this.inner.interrupt();
  }
}
