import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/built.js';

const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : []))];
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

describe.each(PAGES)('%s', (page) => {
  const text = read(page);

  it('shows only TypeScript that is compiled, as it stands in its file', () => {
    const named = [...text.matchAll(/^<!-- (\S+\.ts) -->\n\n```ts\n([^]*?)```$/gm)];
    for (const [, file = '', code] of named) expect(code, `${file}: npm run docs:snippets`).toBe(read(file));
    expect(named).toHaveLength([...text.matchAll(/^```ts/gm)].length);
  });

  it('links to files that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(join(ROOT, dirname(page), link)))).toEqual([]);
  });
});
