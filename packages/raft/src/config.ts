import { invariant, NO_MEMBER } from '@lockstep/model';
import type { Entry, RaftConfig } from './contract.ts';

/** Bytes counted for an entry besides its data, so that empty entries are bounded as well. */
const ENTRY_OVERHEAD_BYTES = 24;

/** The one size of an entry, for pages, windows and the uncommitted cap alike (B-10). */
export function entryBytes(entry: Entry): number {
  return entry.data.length + ENTRY_OVERHEAD_BYTES;
}

export function dataBytes(data: Uint8Array): number {
  return data.length + ENTRY_OVERHEAD_BYTES;
}

/** Refuses settings under which the algorithm cannot work; a programmer error, so it throws. */
export function validateConfig(config: RaftConfig): void {
  invariant(config.id !== NO_MEMBER && Number.isSafeInteger(config.id), `member id ${config.id}`);
  positive('incarnation', config.incarnation);
  positive('heartbeatTicks', config.heartbeatTicks);
  // A follower must be able to miss a heartbeat without calling an election (Raft §5.6).
  invariant(
    config.electionTicks > config.heartbeatTicks,
    `electionTicks ${config.electionTicks} must exceed heartbeatTicks ${config.heartbeatTicks}`,
  );
  positive('appendBytesMax', config.appendBytesMax);
  positive('appendEntriesMax', config.appendEntriesMax);
  positive('inflightAppendsMax', config.inflightAppendsMax);
  positive('inflightBytesMax', config.inflightBytesMax);
  positive('uncommittedBytesMax', config.uncommittedBytesMax);
  positive('committedBytesMax', config.committedBytesMax);
  if (config.applyLagMax !== undefined) positive('applyLagMax', config.applyLagMax);
}

function positive(name: string, value: number): void {
  invariant(
    Number.isSafeInteger(value) && value > 0,
    `${name} ${value} must be a positive integer`,
  );
}
