import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const lib = fileURLToPath(new URL('./lib/', import.meta.url));

export default defineConfig({
  resolve: {
    // The sample imports the package by its name and tests import from lib: one copy of each class, or injection fails.
    alias: [
      { find: /^@rillkit\/nestjs$/, replacement: `${lib}index.ts` },
      { find: /^@rillkit\/nestjs\/(terminus|prometheus|testing)$/, replacement: `${lib}$1/index.ts` },
    ],
  },
  test: {
    include: ['test/**/*.spec.ts', 'docs/examples/**/*.spec.ts'],
    globalSetup: 'test/support/redis-server.ts',
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
