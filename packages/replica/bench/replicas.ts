import {
  type BinaryReader,
  BinaryWriter,
  copyBytes,
  ProcedureFamily,
  toByteString,
  utf8Bytes,
  writeCommandHead,
} from '@lockstep/model';
import type { Extension, KeyspaceDefinition, Procedure } from '@lockstep/state-machine';
import { World } from '../test/test-world.ts';

/**
 * Three whole replicas in one thread: memory log and image, loopback network, virtual
 * time; commands of 256 bytes in a closed loop. Prints commands committed and applied per second.
 *   node --conditions=@lockstep/source --import tsx bench/replicas.ts [in flight] [commands] [follower]
 */
const space: KeyspaceDefinition<Uint8Array> = {
  id: 200,
  name: 'bench',
  history: false,
  ordered: true,
  codec: {
    encode: (writer, value) => void writer.bytes(value),
    decode: (reader) => copyBytes(reader.bytes()),
    sizeBytes: (value) => value.length,
  },
};

const put: Procedure<{ key: string; value: Uint8Array }, number> = {
  id: ProcedureFamily.Redis + 201,
  version: 1,
  name: 'bench.put',
  readOnly: false,
  decode: (reader: BinaryReader) => ({ key: reader.byteString(), value: copyBytes(reader.rest()) }),
  run: (tx, { key, value }) => tx.put(space, key, value).modRevision,
};

const extension: Extension = { name: 'bench', keyspaces: [space], procedures: [put] };

const inFlight = Number(process.argv[2] ?? 1000);
const total = Number(process.argv[3] ?? 200_000);
const throughFollower = process.argv[4] === 'follower';

const world = new World({ extensions: [extension] });
const leader = world.elect();
const { replica } = throughFollower ? world.followers()[0]! : leader;
const value = new Uint8Array(256).fill(7);
const writer = new BinaryWriter(512);
let submitted = 0;
let applied = 0;

function command(i: number): Uint8Array {
  writeCommandHead(writer, put.id, put.version);
  writer.byteString(toByteString(utf8Bytes(`key-${i % 10_000}`))).raw(value);
  return writer.pooledCopy();
}

const waiter = {
  applied: () => {
    applied++;
    if (submitted < total) replica.submit(command(submitted++), waiter);
  },
  failed: (error: Error) => {
    throw error;
  },
};

const startMs = performance.now();
const startCpu = process.cpuUsage();
while (submitted < inFlight) replica.submit(command(submitted++), waiter);
for (let turn = 0; applied < total; turn++) {
  world.time.step();
  if (turn % 100 === 0) world.time.advance(1);
}
const seconds = (performance.now() - startMs) / 1000;
const { user, system } = process.cpuUsage(startCpu);
console.log(
  `${inFlight} in flight through the ${throughFollower ? 'follower' : 'leader'}: ` +
    `${Math.round(total / seconds)} commits/s on three replicas in one thread, ` +
    `${((user + system) / total).toFixed(1)} µs of CPU each`,
);
