import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/built.js';

const run = promisify(execFile);
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** What npm makes of the package, as it would be published. */
export async function pack(folder: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: ROOT });
  return join(folder, stdout.trim());
}

export interface Manifest {
  readonly type: 'module' | 'commonjs';
  /** Exact versions, by name. */
  readonly dependencies: Readonly<Record<string, string>>;
}

/** Somebody's application: a folder of its own outside of this repository, with its own node_modules and the packed package in it. */
export class Application {
  private constructor(readonly folder: string) {}

  static async install(tarball: string, { type, dependencies }: Manifest): Promise<Application> {
    const folder = await mkdtemp(join(tmpdir(), 'rillkit-application-'));
    const manifest = { private: true, type, dependencies: { ...dependencies, '@rillkit/nestjs': `file:${tarball}` } };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder });
    await cp(join(ROOT, 'test/package/fixtures'), folder, { recursive: true });
    return new Application(folder);
  }

  /** Compiles one file, its types checked against what is installed. Rejects with what the compiler says. */
  async compile(file: string, options: readonly string[]): Promise<void> {
    const common = ['--target', 'es2023', '--strict', '--experimentalDecorators', '--emitDecoratorMetadata', '--types', 'node'];
    await this.node([TSC, '--ignoreConfig', ...common, ...options, file]);
  }

  /** Runs node to its own end; what it prints. Rejects when it fails, or does not end. */
  async node(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    try {
      const { stdout } = await run(process.execPath, [...args], { cwd: this.folder, env: { ...process.env, ...env }, timeout: 60_000 });
      return stdout;
    } catch (error) {
      const { stdout = '', stderr = '' }: { stdout?: string; stderr?: string } = Object(error);
      throw new Error(`node ${args.join(' ')}\n${stdout}${stderr}`, { cause: error });
    }
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
