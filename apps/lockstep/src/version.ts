import { readFileSync } from 'node:fs';

const manifest = new URL('../package.json', import.meta.url);

/** Version of the product, from the package that people install. */
export const VERSION: string = (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string })
  .version;
