import type { LockstepError } from '@lockstep/model';
import type { MemberReplica } from '@lockstep/replica';
import type { Formation } from './formation.ts';
import { askPeers } from './introduction.ts';
import { standingRefusal } from './joining.ts';

/**
 * A member that hears no leader may be none any more: removed while it was away, or its directory
 * was lost and another bound in its place. Its peers refuse the link then and it would wait for
 * ever, so it asks them, over and over, and `ended` is told why it has to stop.
 */
export function watchStanding(
  replica: MemberReplica,
  formation: Formation,
  dataDirectory: string,
  intervalMs: number,
  ended: (reason: LockstepError) => void,
): { close(done: () => void): void } {
  const { member } = replica;
  const look = async (): Promise<void> => {
    const known = replica.state.members().map(({ id, peerAddress }) => ({ id, peerAddress }));
    const others = [...formation.members, ...known].filter(({ id }) => id !== member);
    const addresses = new Set(others.map(({ peerAddress }) => peerAddress).filter(Boolean));
    for (const description of await askPeers([...addresses])) {
      const { cluster } = description;
      if (BigInt(`0x${cluster}`) !== formation.clusterId) continue;
      const reason = standingRefusal(description, member, dataDirectory);
      if (reason !== undefined) ended(reason);
    }
  };
  let asking = false;
  const timer = setInterval(() => {
    if (asking || replica.inContact) return;
    asking = true;
    void look().finally(() => {
      asking = false;
    });
  }, intervalMs);
  return {
    close(done) {
      clearInterval(timer);
      done();
    },
  };
}
