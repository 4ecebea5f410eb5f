import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { built } from '../support/built.js';
import { uniqueName } from '../support/redis-server.js';
import { Application, pack } from './application.js';

const TIMEOUT_MS = 180_000;
const nest = (version: string) => ({ '@nestjs/common': version, '@nestjs/core': version });
const others = { 'reflect-metadata': '0.2.2', rxjs: '7.8.2', '@types/node': '20.19.0' };
const onThisRedis = () => ({ REDIS_URL: inject('redisUrl'), STREAM: uniqueName('greetings') });

describe('the packed package', () => {
  let folder: string;
  let tarball: string;

  beforeAll(async () => {
    await built('lib/index.js');
    folder = await mkdtemp(join(tmpdir(), 'rillkit-pack-'));
    tarball = await pack(folder);
  }, TIMEOUT_MS);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  describe('in an ESM application on Nest 12 without the optional peers', () => {
    const modern = ['--module', 'nodenext', '--moduleResolution', 'nodenext'];
    let application: Application;

    beforeAll(async () => {
      const dependencies = { ...nest('12.5.1'), ...others, ioredis: '6.0.0' };
      application = await Application.install(tarball, { type: 'module', dependencies });
    }, TIMEOUT_MS);

    afterAll(() => application.remove());

    it('compiles under nodenext, handles a message, and exits by itself', { timeout: TIMEOUT_MS }, async () => {
      await application.compile('app.ts', modern);
      const output = await application.node(['app.js'], onThisRedis());
      expect(output).toContain('handled: hello (attempt 1)\n');
      expect(output).toMatch(/^closed$/m);
    });

    it.each([
      ['terminus', '@nestjs/terminus'],
      ['prometheus', /prom-client|@willsoto\/nestjs-prometheus/],
    ])('says plainly what ./%s misses', { timeout: TIMEOUT_MS }, async (entry, missing) => {
      const load = `import('@rillkit/nestjs/${entry}').catch((error) => console.log(error.code, error.message))`;
      const output = await application.node(['-e', load]);
      expect(output).toMatch(/^ERR_MODULE_NOT_FOUND Cannot find package/);
      expect(output).toMatch(missing);
    });
  });

  describe('in a CommonJS application on Nest 11', () => {
    const classic = ['--module', 'commonjs', '--moduleResolution', 'node10', '--ignoreDeprecations', '6.0', '--esModuleInterop'];
    let application: Application;

    beforeAll(async () => {
      const optional = { '@nestjs/terminus': '11.1.1', '@willsoto/nestjs-prometheus': '6.1.1', 'prom-client': '15.1.3' };
      const dependencies = { ...nest('11.2.10'), ...others, ...optional, ioredis: '5.11.1' };
      application = await Application.install(tarball, { type: 'commonjs', dependencies });
    }, TIMEOUT_MS);

    afterAll(() => application.remove());

    it('compiles under node10, handles a message, and exits by itself', { timeout: TIMEOUT_MS }, async () => {
      await application.compile('app.ts', classic);
      const output = await application.node(['app.js'], onThisRedis());
      expect(output).toContain('handled: hello (attempt 1)\n');
      expect(output).toMatch(/^closed$/m);
    });

    it('finds the types and the code of the companions', { timeout: TIMEOUT_MS }, async () => {
      await application.compile('companions.ts', classic);
      expect(await application.node(['companions.js'])).toBe('loaded: CompanionsModule\n');
    });
  });
});
