import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** What happens to bytes on their way: passed on, kept until {@link Proxy.resume}, or thrown away. */
type Flow = 'pass' | 'hold' | 'drop';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** Kept bytes and delayed replies go through here, so that they stay in order. */
  requests: Buffer[];
  replies: Buffer[];
  lastReply: Promise<void>;
}

/** A TCP proxy before a Redis server, to break the network in the ways networks break. */
export class Proxy {
  private readonly pairs = new Set<Pair>();
  private requestFlow: Flow = 'pass';
  private replyFlow: Flow = 'pass';
  private replyDelayMs = 0;
  private refusing = false;
  private losing: { readonly text: string; readonly done: () => void } | undefined;

  private constructor(
    private readonly listener: Server,
    readonly port: number,
    private readonly targetPort: number,
  ) {
    listener.on('connection', (client) => this.open(client));
  }

  /** Opens a proxy on a port given by the kernel. */
  static async to(targetPort: number): Promise<Proxy> {
    const listener = createServer();
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const address = listener.address();
    if (typeof address !== 'object' || !address) throw new Error('the proxy got no port');
    return new Proxy(listener, address.port, targetPort);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}/0`;
  }

  /** How many connections are open now. */
  get connections(): number {
    return this.pairs.size;
  }

  /** Each reply arrives `ms` later; their order stays. 0 ends it. */
  delayReplies(ms: number): void {
    this.replyDelayMs = ms;
  }

  /** Nothing arrives on either side, nothing is lost: a network that stands still. Ends with {@link resume}. */
  stall(): void {
    this.requestFlow = this.replyFlow = 'hold';
  }

  /** Everything is lost on its way and nobody is told: a half-open connection. New ones are taken, and as dead. */
  blackHole(): void {
    this.requestFlow = this.replyFlow = 'drop';
  }

  /** Commands arrive and are carried out; their replies are lost. */
  swallowReplies(): void {
    this.replyFlow = 'drop';
  }

  /** Bytes pass again, kept ones first. Dropped ones are gone: a connection that lost some should be {@link cut}. */
  resume(): void {
    this.requestFlow = this.replyFlow = 'pass';
    for (const pair of this.pairs) {
      for (const bytes of pair.requests.splice(0)) pair.server.write(bytes);
      for (const bytes of pair.replies.splice(0)) pair.client.write(bytes);
    }
  }

  /** Breaks all connections off. New ones are taken. */
  cut(): void {
    for (const pair of this.pairs) this.end(pair);
  }

  /** Breaks the clients' side off and leaves the server's side open, which hears nothing of it: ghosts, until {@link cut}. */
  abandon(): void {
    for (const { client } of this.pairs) {
      client.removeAllListeners('close');
      client.destroy();
    }
  }

  /** Breaks all connections off and takes no new ones, until {@link accept}. */
  refuse(): void {
    this.refusing = true;
    this.cut();
  }

  accept(): void {
    this.refusing = false;
  }

  /** The next request that contains `text` is carried out by the server, its reply is lost, and its connection cut. Ends when that has happened. */
  loseReplyTo(text: string): Promise<void> {
    return new Promise((done) => {
      this.losing = { text, done };
    });
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((closed) => this.listener.close(closed));
  }

  private open(client: Socket): void {
    if (this.refusing) return void client.destroy();
    const server = connect(this.targetPort, '127.0.0.1');
    const pair: Pair = { client, server, requests: [], replies: [], lastReply: Promise.resolve() };
    this.pairs.add(pair);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => this.end(pair));
      socket.on('close', () => this.end(pair));
    }
    client.on('data', (bytes) => this.request(pair, bytes));
    server.on('data', (bytes) => this.reply(pair, bytes));
  }

  private request(pair: Pair, bytes: Buffer): void {
    const { losing } = this;
    if (losing && bytes.includes(losing.text)) {
      this.losing = undefined;
      pair.server.removeAllListeners('data');
      // The server answers when it has carried the command out.
      pair.server.once('data', () => {
        this.end(pair);
        losing.done();
      });
    }
    if (this.requestFlow === 'pass') pair.server.write(bytes);
    else if (this.requestFlow === 'hold') pair.requests.push(bytes);
  }

  private reply(pair: Pair, bytes: Buffer): void {
    if (this.replyFlow === 'hold') pair.replies.push(bytes);
    if (this.replyFlow !== 'pass') return;
    if (pair.client.destroyed) return;
    if (this.replyDelayMs === 0) return void pair.client.write(bytes);
    const due = new Promise<void>((resolve) => setTimeout(resolve, this.replyDelayMs));
    pair.lastReply = Promise.all([pair.lastReply, due]).then(() => void (pair.client.destroyed || pair.client.write(bytes)));
  }

  private end(pair: Pair): void {
    if (!this.pairs.delete(pair)) return;
    pair.client.destroy();
    pair.server.destroy();
  }
}
