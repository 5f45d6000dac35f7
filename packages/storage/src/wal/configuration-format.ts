import type { BinaryReader, BinaryWriter, MemberId } from '@lockstep/model';
import { BinaryFormatError } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';

/** Four member lists (count, ids as varints) and the auto-leave byte. */
export function writeConfiguration(writer: BinaryWriter, configuration: Configuration): void {
  writeMembers(writer, configuration.voters);
  writeMembers(writer, configuration.votersOutgoing);
  writeMembers(writer, configuration.learners);
  writeMembers(writer, configuration.learnersNext);
  writer.u8(configuration.autoLeave ? 1 : 0);
}

/** Twin of `writeConfiguration`. Throws BinaryFormatError. */
export function readConfiguration(reader: BinaryReader): Configuration {
  return {
    voters: readMembers(reader),
    votersOutgoing: readMembers(reader),
    learners: readMembers(reader),
    learnersNext: readMembers(reader),
    autoLeave: reader.u8() === 1,
  };
}

function writeMembers(writer: BinaryWriter, members: readonly MemberId[]): void {
  writer.varint(members.length);
  for (const member of members) writer.varint(member);
}

function readMembers(reader: BinaryReader): MemberId[] {
  const count = reader.varint();
  if (count > reader.remaining) throw new BinaryFormatError(`list of ${count} members is cut`);
  const members: MemberId[] = [];
  for (let i = 0; i < count; i++) members.push(reader.varint());
  return members;
}
