import type { INestApplication, LoggerService, ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { RillkitModuleOptions } from '../../lib/index.js';

/** Options under which an application starts, notices and stops fast. */
export const quick = (connection: string, options: RillkitModuleOptions = {}): RillkitModuleOptions => ({
  connection,
  blockMs: 500,
  liveness: { leaseMs: 1_000 },
  shutdown: { graceMs: 1_000, abortMs: 200 },
  ...options,
});

/** Keeps what is logged, `level text`, instead of printing it. */
export class Lines implements LoggerService {
  readonly all: string[] = [];
  log = (text: unknown): void => this.add('log', text);
  warn = (text: unknown): void => this.add('warn', text);
  error = (text: unknown): void => this.add('error', text);
  debug = (text: unknown): void => this.add('debug', text);

  matching(pattern: RegExp): readonly string[] {
    return this.all.filter((line) => pattern.test(line));
  }

  private add(level: string, text: unknown): void {
    this.all.push(`${level} ${String(text)}`);
  }
}

export interface TestApp {
  readonly app: INestApplication;
  readonly lines: Lines;
}

/** Builds an application and does not start it. */
export async function makeApp(metadata: ModuleMetadata): Promise<TestApp> {
  const lines = new Lines();
  const module = await Test.createTestingModule(metadata).setLogger(lines).compile();
  return { app: module.createNestApplication(), lines };
}

export async function startApp(metadata: ModuleMetadata): Promise<TestApp> {
  const made = await makeApp(metadata);
  await made.app.init();
  return made;
}
