#!/usr/bin/env node
// npm links a command when it installs, which is before the first build.
import { existsSync } from 'node:fs';

const main = new URL('../dist/main.js', import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  console.error('lockstep-checker: not built yet; run `npm run build` in the repository first');
  process.exitCode = 1;
}
