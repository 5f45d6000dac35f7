import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const MODULE = new URL('../dist/deadline.js', import.meta.url).href;

it('a question that nothing answers ends by its deadline, not with the process', async () => {
  // Nothing but the deadline keeps this process alive, as when a connection is reset as it opens.
  const script = `
    import { withDeadline } from '${MODULE}';
    const aborted = (signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    console.log(await withDeadline(50, aborted).catch(({ name }) => name));
  `;
  const args = ['--input-type=module', '-e', script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout.trim()).toBe('TimeoutError');
});
