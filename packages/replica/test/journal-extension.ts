import {
  type BinaryReader,
  BinaryWriter,
  ProcedureFamily,
  toByteString,
  utf8Bytes,
  utf8Text,
  writeCommandHead,
} from '@lockstep/model';
import type { Extension, KeyspaceDefinition, Procedure } from '@lockstep/state-machine';

/** Keys are texts, values who wrote them; every text is also an event of the door `journal`. */
export const journalSpace: KeyspaceDefinition<string> = {
  id: 100,
  name: 'journal',
  history: false,
  ordered: true,
  codec: {
    encode: (writer, value) => void writer.bytes(utf8Bytes(value)),
    decode: (reader) => utf8Text(reader.bytes()),
    sizeBytes: (value) => value.length,
  },
};

const write: Procedure<string, string> = {
  id: ProcedureFamily.Redis + 200,
  version: 1,
  name: 'journal.write',
  readOnly: false,
  decode: (reader: BinaryReader) => utf8Text(reader.rest()),
  run(tx, text) {
    const key = toByteString(utf8Bytes(text));
    const before = tx.get(journalSpace, key);
    tx.put(journalSpace, key, `${tx.origin}/${tx.incarnation}/${tx.sequence}`);
    tx.emit('journal', text);
    return before === undefined ? `new ${text}` : `again ${text}`;
  },
};

export const journalExtension: Extension = {
  name: 'journal',
  keyspaces: [journalSpace],
  procedures: [write],
};

export function journalCommand(text: string): Uint8Array {
  const writer = writeCommandHead(new BinaryWriter(64), write.id, write.version);
  return writer.raw(utf8Bytes(text)).take();
}
