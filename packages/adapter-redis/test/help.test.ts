import { describe, expect, it } from 'vitest';
import { commandTable, resolveCommand } from '../src/command-table.ts';

const containers = [...commandTable.values()].filter(
  ({ subcommands }) => subcommands !== undefined,
);

describe('HELP', () => {
  it.each(containers.map(({ name }) => name))('of %s names each subcommand', (name) => {
    const spec = resolveCommand([name, 'HELP'], 1);
    if (!('door' in spec)) throw new Error('no command');
    const reply = JSON.stringify(spec.door?.(undefined as never, [name, 'HELP']));
    for (const subcommand of commandTable.get(name)?.subcommands?.keys() ?? []) {
      expect(reply).toContain(`"${subcommand.toUpperCase()}"`);
    }
  });

  it('is what the error of an unknown subcommand points to', () => {
    const refused = resolveCommand(['lock', 'steal'], 1);
    expect(refused).toMatchObject({ text: expect.stringContaining('Try LOCK HELP.') });
  });
});
