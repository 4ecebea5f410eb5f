// npm run docs:snippets: puts the compiled example files into the pages that name them, so that no page shows code that does not compile.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const read = (file) => readFileSync(new URL(file, root), 'utf8');

const pages = readdirSync(new URL('docs/', root)).filter((name) => name.endsWith('.md'));
for (const page of ['README.md', ...pages.map((name) => `docs/${name}`)]) {
  const text = read(page).replaceAll(/(<!-- (\S+\.ts) -->\n\n```ts\n)[^]*?```/g, (_, head, file) => `${head}${read(file)}\`\`\``);
  writeFileSync(new URL(page, root), text);
}
