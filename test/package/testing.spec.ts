import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { built, ROOT } from '../support/built.js';
import { Application, pack, type Manifest } from './application.js';

const TIMEOUT_MS = 180_000;
const others = { 'reflect-metadata': '0.2.2', rxjs: '7.8.2', '@types/node': '20.19.0' };
const compilerOptions = { target: 'es2023', strict: true, skipLibCheck: true, experimentalDecorators: true, emitDecoratorMetadata: true };

describe('the testing module of the packed package', () => {
  let folder: string;
  let tarball: string;
  let application: Application | null = null;

  beforeAll(async () => {
    await built('lib/index.js');
    folder = await mkdtemp(join(tmpdir(), 'rillkit-pack-'));
    tarball = await pack(folder);
  }, TIMEOUT_MS);

  afterAll(async () => {
    await application?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  /** A project with its configuration files and the test in it. */
  const project = async (manifest: Manifest, files: Readonly<Record<string, string>>, adapt: (test: string) => string) => {
    await application?.remove();
    const made = (application = await Application.install(tarball, manifest));
    const test = adapt(await readFile(join(made.folder, 'billing.check.ts'), 'utf8'));
    for (const [name, text] of Object.entries({ ...files, 'billing.spec.ts': test })) await writeFile(join(made.folder, name), text);
    return made;
  };

  it('tests a handler under Jest: Nest 11, ts-jest, CommonJS', { timeout: TIMEOUT_MS }, async () => {
    const nest = { '@nestjs/common': '11.2.10', '@nestjs/core': '11.2.10', '@nestjs/testing': '11.2.6', ioredis: '5.11.1' };
    const dependencies = { ...nest, ...others, jest: '30.5.2', 'ts-jest': '29.4.15', typescript: '5.9.3' };
    const files = {
      'jest.config.js': await shownIn('js', 'jest.config.js'),
      'tsconfig.json': JSON.stringify({ compilerOptions: { ...compilerOptions, module: 'commonjs', allowJs: true, types: ['node'] } }),
    };
    const made = await project({ type: 'commonjs', dependencies }, files, classic);
    // That it ends at all says that nothing was left open.
    await made.node(['node_modules/jest/bin/jest.js', '--json', '--outputFile=report.json']);
    expect(JSON.parse(await readFile(join(made.folder, 'report.json'), 'utf8'))).toMatchObject({ success: true, numPassedTests: 2 });
  });

  it('tests a handler under Vitest: Nest 12, ESM', { timeout: TIMEOUT_MS }, async () => {
    const nest = { '@nestjs/common': '12.5.1', '@nestjs/core': '12.5.1', '@nestjs/testing': '12.1.1', ioredis: '6.0.0' };
    const dependencies = { ...nest, ...others, vitest: '4.1.12', vite: '8.3.5' };
    const files = { 'tsconfig.json': JSON.stringify({ compilerOptions: { ...compilerOptions, module: 'nodenext' } }) };
    const made = await project({ type: 'module', dependencies }, files, (test) => test);
    await made.node(['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', '--outputFile=report.json']);
    expect(JSON.parse(await readFile(join(made.folder, 'report.json'), 'utf8'))).toMatchObject({ success: true, numPassedTests: 2 });
  });
});

/** The same test, as a CommonJS project under Jest has it. */
const classic = (test: string): string => test.replace("'vitest'", "'@jest/globals'").replace('./billing.js', './billing');

/** A configuration file, as the page about testing shows it. */
async function shownIn(language: string, name: string): Promise<string> {
  const page = await readFile(join(ROOT, 'docs/testing.md'), 'utf8');
  const [, text = ''] = page.match(new RegExp(`^\`\`\`${language}\\n// ${name}\\n([^]*?)\`\`\`$`, 'm')) ?? [];
  return text;
}
