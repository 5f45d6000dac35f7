import type { ReplicaStatus } from './contract.ts';
import type { Loop } from './loop.ts';

/** One look at a member, for the status command, health and metrics. */
export function statusOf(loop: Loop): ReplicaStatus {
  const { machine, forwarder, log } = loop;
  const raft = loop.raft.status();
  const { voters, votersOutgoing, learners } = raft.configuration;
  const members = [...new Set([...voters, ...votersOutgoing, ...learners])];
  const others = members.filter((id) => id !== raft.id).sort((a, b) => a - b);
  const progress = new Map(raft.peers.map((peer) => [peer.id, peer]));
  return {
    member: raft.id,
    incarnation: forwarder.incarnation,
    role: raft.role,
    leader: raft.leader,
    term: raft.term,
    lastIndex: raft.lastIndex,
    commitIndex: raft.commit,
    appliedIndex: machine.appliedIndex,
    revision: machine.revision,
    logBytes: log.sizeBytes,
    imageBytes: machine.liveBytes,
    pendingCommands: forwarder.pending.count,
    health: healthOf(loop),
    scrub: loop.scrubber.status,
    configuration: raft.configuration,
    peers: others.map((id) => ({
      id,
      connected: loop.isLinked(id),
      caughtUp: loop.membership.catchUp.has(id),
      match: progress.get(id)?.match ?? 0,
      state: progress.get(id)?.state ?? 'unknown',
    })),
  };
}

function healthOf(loop: Loop): string {
  const { trust, imageLost } = loop;
  if (loop.stopped) return 'stopped';
  if (loop.repair.pending) return `log is being repaired: ${loop.repair.missing}`;
  if (!trust.mayVote) return 'damaged log';
  if (imageLost) return 'image is being replaced';
  if (loop.scrubber.imageDamage !== '') return `damaged image: ${loop.scrubber.imageDamage}`;
  if (trust.outOfSpace) return 'out of space';
  return 'ok';
}
