import {
  type BinaryReader,
  BinaryWriter,
  ProcedureFamily,
  toByteString,
  utf8Bytes,
  writeCommandHead,
} from '@lockstep/model';
import type { Extension, Procedure, StateView } from '@lockstep/state-machine';
import { journalSpace } from './journal-extension.ts';

const KEY = toByteString(utf8Bytes('diverges'));

/** A procedure that is not deterministic: whoever runs it as the `wrong`th writes another value. */
export function divergence(wrong: number): { extension: Extension; command: Uint8Array } {
  let runs = 0;
  const procedure: Procedure<undefined, undefined> = {
    id: ProcedureFamily.Redis + 201,
    version: 1,
    name: 'test.diverge',
    readOnly: false,
    decode: (_reader: BinaryReader) => undefined,
    run(tx) {
      tx.put(journalSpace, KEY, ++runs === wrong ? 'wrong' : 'right');
      return undefined;
    },
  };
  const extension = { name: 'diverging', keyspaces: [], procedures: [procedure] };
  const command = writeCommandHead(new BinaryWriter(16), procedure.id, procedure.version).take();
  return { extension, command };
}

/** What it wrote in that state; undefined when it has not run. */
export function divergedValue(state: StateView): unknown {
  return state.get(journalSpace, KEY)?.value;
}
