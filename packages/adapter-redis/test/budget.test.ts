import { expect, it } from 'vitest';
import type { Execution } from '../src/command.ts';
import { resolveCommand } from '../src/command-table.ts';
import { stringValue } from '../src/value.ts';

const TEXT = 'x'.repeat(60);

/** Bytes that the command itself pays for at a key that holds a text. */
function spentBy(...argv: string[]): number {
  let bytes = 0;
  const record = { value: stringValue(TEXT), deadline: 0, lease: 0, token: 1 };
  const get = (key: string) => (key === 'k' ? record : undefined);
  const tx = { get: () => undefined, put: () => record, delete: () => record, option: () => '' };
  const execution = {
    ...{ db: 0, time: 0, wall: 0, tx, get, notify: () => {}, spend: () => {} },
    reader: { get: () => undefined, option: () => '' },
    spendBytes: (count: number) => {
      bytes += count;
    },
  };
  const spec = resolveCommand(argv, 1);
  if (!('run' in spec)) throw new Error(`${argv[0]} is unknown`);
  spec.run?.(execution as unknown as Execution, argv);
  return bytes;
}

// Members of the first release count so: one that counts otherwise undoes other transactions than
// they, and is another machine.
it.each([
  ['PEXPIRE', 'k', '1000'],
  ['RENAME', 'k', 'other'],
  ['COPY', 'k', 'other'],
  ['MOVE', 'k', '1'],
])('%s pays for the bytes of the text, as in the first release', (...argv) => {
  expect(spentBy(...argv)).toBe(TEXT.length);
});
