import type { OptionRow } from '@lockstep/admin';
import { LockstepError } from '@lockstep/model';
import { acceptsOption } from '@lockstep/state-machine';
import Table from 'cli-table3';
import { askOptions, sendAny } from './admin-client.ts';

/** Prints all cluster options, or the value of one. */
export async function printOptions(
  addresses: readonly string[],
  name: string | undefined,
  json: boolean,
): Promise<void> {
  const { options } = await askOptions(addresses);
  const shown = name === undefined ? options : [findOption(options, name)];
  if (json) {
    console.log(JSON.stringify({ options: shown }));
    return;
  }
  if (name !== undefined) {
    console.log(String(shown[0]?.value));
    return;
  }
  const table = new Table({
    head: ['option', 'value', 'default', 'accepted', 'what it is'],
    style: { head: [], border: [], compact: true },
    colWidths: [null, null, null, 30, 50],
    wordWrap: true,
  });
  for (const { name: each, value, default: usual, accepted, doc } of shown) {
    table.push([each, String(value), String(usual), accepted.replace(/^accepts /, ''), doc]);
  }
  console.log(table.toString());
}

/** Sets a cluster option, for all members. Throws INVALID_OPTION for a value not accepted. */
export async function changeOption(
  addresses: readonly string[],
  name: string,
  text: string,
): Promise<void> {
  const { options } = await askOptions(addresses);
  const row = findOption(options, name);
  const value = parseOptionValue(row, text);
  const set = await sendAny<OptionRow>(addresses, '/options', { name, value });
  console.log(`${set.name} is ${set.value}; it was ${row.value}`);
}

function findOption(options: readonly OptionRow[], name: string): OptionRow {
  const row = options.find((option) => option.name === name);
  if (row !== undefined) return row;
  const names = options.map((option) => option.name).join(', ');
  throw new LockstepError('INVALID_OPTION', 'option', `'${name}'`, `there are ${names}`);
}

/** A value in the type of the option. Throws INVALID_OPTION when it is out of range. */
export function parseOptionValue(row: OptionRow, text: string): number | string | boolean {
  const value = typedValue(row, text);
  if (value !== undefined && acceptsOption(row, value)) return value;
  throw new LockstepError('INVALID_OPTION', row.name, `'${text}'`, row.accepted);
}

function typedValue(row: OptionRow, text: string): number | string | boolean | undefined {
  switch (typeof row.default) {
    case 'number':
      return /^-?\d+$/.test(text) ? Number(text) : undefined;
    case 'boolean':
      return text === 'true' || text === 'false' ? text === 'true' : undefined;
    default:
      return text;
  }
}
