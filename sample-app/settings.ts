/** What the environment can set. Nothing else of the sample reads it; all have a default. */
export class Settings {
  /** `REDIS_URL`. @default null: messages and orders are kept in memory, and end with the process */
  readonly redisUrl: string | null;
  /** `PORT`: where the shop listens; 0 lets the system choose. @default 3000 */
  readonly port: number;
  /** `WORKER`: this process's name in every group. @default made by the library, unique per start */
  readonly worker: string | undefined;
  /** `CONCURRENCY`: how many orders a process bills at a time. @default 4 */
  readonly concurrency: number;
  /** `WORK_MS`: how long billing one order takes, milliseconds. @default 50 */
  readonly workMs: number;
  /** `LEASE_MS`: how long a silent process is believed alive, milliseconds. @default 6000 */
  readonly leaseMs: number;
  /** `GRACE_MS`: how long running handlers may go on at shutdown, milliseconds. @default 10000 */
  readonly graceMs: number;

  /** @throws Error naming the variable that is wrong. */
  constructor(env: NodeJS.ProcessEnv) {
    this.redisUrl = env['REDIS_URL'] || null;
    this.port = wholeNumber(env, 'PORT', 3000);
    this.worker = env['WORKER'] || undefined;
    this.concurrency = wholeNumber(env, 'CONCURRENCY', 4);
    this.workMs = wholeNumber(env, 'WORK_MS', 50);
    this.leaseMs = wholeNumber(env, 'LEASE_MS', 6_000);
    this.graceMs = wholeNumber(env, 'GRACE_MS', 10_000);
  }
}

function wholeNumber(env: NodeJS.ProcessEnv, name: string, byDefault: number): number {
  const text = env[name];
  if (!text) return byDefault;
  if (!/^\d+$/.test(text)) throw new Error(`${name} must be a whole number, not "${text}".`);
  return Number(text);
}
