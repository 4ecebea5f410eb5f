import type { Order } from './order.js';

/** How a run of billing ended. `interrupted`: the application closed, or lost its lease, in the middle. `overtaken`: a newer run had ended before. */
export type BillingResult = 'billed' | 'failed, runs again' | 'given up' | 'rejected' | 'interrupted';

/** One run of the billing handler. An order whose message ran twice has two of them. */
export interface BillingRun {
  /** The stream entry that was handled. */
  readonly entry: string;
  readonly attempt: number;
  readonly worker: string;
  readonly fence: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Absent while it runs, and for ever when its process was killed. */
  readonly endedAt?: number;
  readonly result?: BillingResult | 'overtaken';
}

/** An order as `GET /orders/:id` shows it. */
export interface OrderRecord {
  readonly order: Order;
  /** `placed`, then the result of the newest run that has ended. */
  readonly state: string;
  readonly runs: readonly BillingRun[];
  /** How often the audit group has seen it. */
  readonly audits: number;
}
