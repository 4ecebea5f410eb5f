import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * The path of a built file. Child processes run what is in `dist`, so a test of theirs must not pass on yesterday's build.
 * @throws Error when it is not there, or older than a source.
 */
export async function built(file: string): Promise<string> {
  const path = join(ROOT, 'dist', file);
  const builtAt = await stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
  const sources = await Promise.all(['lib', 'sample-app', 'test/apps'].map((folder) => newest(join(ROOT, folder))));
  if (builtAt < Math.max(...sources)) throw new Error(`dist/${file} is missing or older than its sources: npm run build`);
  return path;
}

async function newest(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const times = files.filter((file) => file.isFile()).map(async (file) => (await stat(join(file.parentPath, file.name))).mtimeMs);
  return Math.max(0, ...(await Promise.all(times)));
}
