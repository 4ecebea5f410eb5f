interface Row {
  readonly name: string;
  score: number;
}

/** Order of bytes, as Redis orders names. */
export const compareNames = (a: string, b: string): number => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)));

const compare = (a: Row, b: Row): number => a.score - b.score || compareNames(a.name, b.name);

/** A sorted set: names with scores, in the order of the scores, equal ones in the order of the names' bytes. */
export class Rows {
  private readonly scores = new Map<string, number>();
  private rows: Row[] = [];

  get size(): number {
    return this.rows.length;
  }

  get first(): Readonly<Row> | undefined {
    return this.rows[0];
  }

  score(name: string): number | undefined {
    return this.scores.get(name);
  }

  set(name: string, score: number): void {
    const before = this.scores.get(name);
    if (before === score) return;
    if (before !== undefined) this.rows.splice(this.placeOf({ name, score: before }), 1);
    this.scores.set(name, score);
    this.rows.splice(this.placeOf({ name, score }), 0, { name, score });
  }

  /** Answers whether it was new; one that is there stays as it is. */
  add(name: string, score: number): boolean {
    if (this.scores.has(name)) return false;
    this.set(name, score);
    return true;
  }

  remove(...names: readonly string[]): void {
    for (const name of names) {
      const score = this.scores.get(name);
      if (score === undefined) continue;
      this.rows.splice(this.placeOf({ name, score }), 1);
      this.scores.delete(name);
    }
  }

  /** The first `count` names whose score is `min` or more and passes `until`. */
  names(min: number, until: (score: number) => boolean, count: number): string[] {
    const from = this.placeOf({ name: '', score: min });
    const found: string[] = [];
    for (let at = from; at < this.rows.length && found.length < count; at += 1) {
      const row = this.rows[at];
      if (!row || !until(row.score)) break;
      found.push(row.name);
    }
    return found;
  }

  /** A copy, to be walked through while rows are set. */
  all(): readonly Readonly<Row>[] {
    return this.rows.map(({ name, score }) => ({ name, score }));
  }

  copy(): Rows {
    const copy = new Rows();
    for (const { name, score } of this.rows) copy.set(name, score);
    return copy;
  }

  private placeOf(row: Row): number {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.rows[middle];
      if (other && compare(other, row) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
