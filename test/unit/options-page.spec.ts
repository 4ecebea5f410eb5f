import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HANDLER_DEFAULTS, LIVENESS_DEFAULTS, MODULE_DEFAULTS, SHUTDOWN_DEFAULTS } from '../../lib/rillkit.options.js';
import { ROOT } from '../support/built.js';

const page = readFileSync(join(ROOT, 'docs/options.md'), 'utf8');

/** The rows under one heading: option name → its cells. */
function table(heading: string): ReadonlyMap<string, readonly string[]> {
  const section = page.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  const rows = [...section.matchAll(/^\| `([\w.]+)`\s*\|(.*)\|$/gm)];
  return new Map(rows.map(([, name = '', cells = '']) => [name, cells.split('|').map((cell) => cell.trim())]));
}

const prefixed = (prefix: string, options: object): [string, unknown][] =>
  Object.entries(options).map(([name, value]) => [`${prefix}${name}`, value]);

const MODULE = [...prefixed('', MODULE_DEFAULTS), ...prefixed('liveness.', LIVENESS_DEFAULTS), ...prefixed('shutdown.', SHUTDOWN_DEFAULTS)];

/** How the page writes a default: numbers with thin groups, text as code. Functions are described in words. */
const written = (value: unknown): string =>
  typeof value === 'number' ? value.toLocaleString('en').replaceAll(',', ' ') : `\`${String(value)}\``;

describe('the page of options', () => {
  it.each(MODULE)('has the default of the module’s %s', (name, value) => {
    expect(table('`RillkitModule').get(name)?.[2]).toBe(written(value));
  });

  it.each(Object.entries(HANDLER_DEFAULTS))('has the default of a handler’s %s', (name, value) => {
    const shown = table('`@StreamHandler').get(name)?.[2];
    const inWords: Record<string, string> = {
      backoff: '500, doubling',
      retryIf: 'always',
      timeoutMs: 'no limit',
      startFrom: '`beginning`',
    };
    expect(shown).toContain(inWords[name] ?? written(value));
  });
});
