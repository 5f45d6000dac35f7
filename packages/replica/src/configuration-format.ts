import type { BinaryReader, BinaryWriter, MemberId } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';

/** A configuration as it stands in Configuration entries and in the image's position. */
export function writeConfiguration(writer: BinaryWriter, configuration: Configuration): void {
  const { voters, votersOutgoing, learners, learnersNext, autoLeave } = configuration;
  for (const ids of [voters, votersOutgoing, learners, learnersNext]) {
    writer.varint(ids.length);
    for (const id of ids) writer.varint(id);
  }
  writer.u8(autoLeave ? 1 : 0);
}

/** Twin of the above. Throws BinaryFormatError when malformed. */
export function readConfiguration(reader: BinaryReader): Configuration {
  const voters = readIds(reader);
  const votersOutgoing = readIds(reader);
  const learners = readIds(reader);
  const learnersNext = readIds(reader);
  return { voters, votersOutgoing, learners, learnersNext, autoLeave: reader.u8() === 1 };
}

function readIds(reader: BinaryReader): MemberId[] {
  const ids: MemberId[] = [];
  for (let left = reader.varint(); left > 0; left--) ids.push(reader.varint());
  return ids;
}
