import { Sorted } from './sorted.js';

interface Row {
  readonly name: string;
  readonly score: number;
}

/** Order of bytes, as Redis orders names. */
export const compareNames = (a: string, b: string): number => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)));

const compare = (a: Row, b: Row): number => a.score - b.score || compareNames(a.name, b.name);

/** A sorted set: names with scores, in the order of the scores, equal ones in the order of the names' bytes. */
export class Rows {
  private readonly scores = new Map<string, number>();
  private readonly rows = new Sorted<Row, Row>(compare);

  get size(): number {
    return this.rows.size;
  }

  get first(): Row | undefined {
    return this.rows.first;
  }

  score(name: string): number | undefined {
    return this.scores.get(name);
  }

  set(name: string, score: number): void {
    const before = this.scores.get(name);
    if (before === score) return;
    if (before !== undefined) this.rows.remove({ name, score: before });
    this.scores.set(name, score);
    this.rows.put({ name, score }, { name, score });
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
      this.rows.remove({ name, score });
      this.scores.delete(name);
    }
  }

  /** The first `count` names whose score is `min` or more and passes `until`. */
  names(min: number, until: (score: number) => boolean, count: number): string[] {
    const from = this.rows.before({ name: '', score: min });
    const rows = this.rows.slice(from, Math.min(count, this.size));
    const end = rows.findIndex(({ score }) => !until(score));
    return rows.slice(0, end < 0 ? rows.length : end).map(({ name }) => name);
  }

  /** A copy, to be walked through while rows are set. */
  all(): readonly Row[] {
    return [...this.rows];
  }

  copy(): Rows {
    const copy = new Rows();
    for (const { name, score } of this.rows) copy.set(name, score);
    return copy;
  }
}
