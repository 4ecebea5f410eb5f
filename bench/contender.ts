/** What every contender is given: a message of an everyday size. */
export const BODY = {
  n: 1,
  customer: 'c-1029',
  total: 99.5,
  lines: [
    { sku: 'a', qty: 1 },
    { sku: 'b', qty: 2 },
  ],
};
export type Body = typeof BODY;

/** One way of consuming the same messages. */
export interface Contender {
  readonly name: string;
  /** Stores `count` messages. Not measured. */
  fill(count: number): Promise<void>;
  /** Handles them all with a handler that does nothing, until each is settled. */
  consume(count: number, stopwatch: Stopwatch): Promise<void>;
}

/** Leaves out of the measure what a contender needs to start and to close. */
export interface Stopwatch {
  /** The first message is about to be handled. */
  begins(): void;
  /** The last is settled. */
  ends(): void;
}

/** A handler that does nothing but look at the body, so that decoding cannot be left out; and the end of it all. */
export class Sink {
  private seen = 0;
  private finish: () => void = () => undefined;
  readonly all = new Promise<void>((resolve) => (this.finish = resolve));

  constructor(
    private readonly count: number,
    private readonly stopwatch: Stopwatch,
  ) {}

  handle(body: Body): void {
    if (body.n !== BODY.n) throw new Error('not the body that was stored');
    this.seen += 1;
    if (this.seen === 1) this.stopwatch.begins();
    if (this.seen === this.count) this.finish();
  }
}
