import { type Clock, LockstepError, type MemberId, type Random } from '@lockstep/model';
import {
  addRefusal,
  encodeAddMember,
  encodeRemoveMember,
  encodeUpdateMember,
  type MembershipOutcome,
  type MembershipRefusal,
  promoteRefusal,
  removeRefusal,
  updateRefusal,
} from '@lockstep/state-machine';
import type { Replica, ReplicaStatus } from './contract.ts';
import { isMember, isVoter } from './next-configuration.ts';

/** An id for the etcd door to show: random, never 0, which clients take for "none". */
export function newEtcdId(random: Random): bigint {
  return (BigInt(random.u32()) << 32n) | BigInt(random.u32() || 1);
}

const PEER_ADDRESS = /^(?:\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253}):(\d{1,5})$/;

/** Whether members can dial it: `host:port`, `[v6]:port`. Doors refuse any other. */
export function isPeerAddress(text: string): boolean {
  const port = Number(PEER_ADDRESS.exec(text)?.[1] ?? 0);
  return port >= 1 && port <= 65_535 && URL.canParse(`ws://${text}`);
}

/** What an operator may change of the cluster's members. */
export type MembershipChange =
  | {
      readonly kind: 'add';
      readonly etcdId: bigint;
      readonly peerAddress: string;
      readonly learner: boolean;
    }
  | { readonly kind: 'promote'; readonly member: MemberId }
  | { readonly kind: 'remove'; readonly member: MemberId }
  | { readonly kind: 'update'; readonly member: MemberId; readonly peerAddress: string };

/** `not-in-sync`: the learner lacks too much of the log. `unhealthy`: too few voters are linked. */
export type ChangeRefusal = MembershipRefusal | 'not-in-sync' | 'unhealthy';

export type MembershipResult =
  | { readonly kind: 'changed'; readonly member: MemberId }
  | { readonly kind: 'refused'; readonly reason: ChangeRefusal }
  | { readonly kind: 'failed'; readonly error: LockstepError };

/** A change not in force by then goes on, but nobody is told. */
const SETTLE_MS_MAX = 10_000;

/**
 * Changes the membership through the log and answers when the change is in force: then a member
 * that was removed may be switched off, and one that was added may be started. Refused with a
 * reason when the change would be unsafe now; `failed` with UNKNOWN_OUTCOME when it was decided but
 * is not in force within ten seconds. `done` runs once, in a call-back of the replica.
 */
export function changeMembership(
  replica: Replica,
  clock: Clock,
  change: MembershipChange,
  done: (result: MembershipResult) => void,
): void {
  const failed = (error: LockstepError): void => done({ kind: 'failed', error });
  replica.barrier({
    reached: () => {
      const reason = refusalOf(replica, change);
      if (reason !== undefined) {
        done({ kind: 'refused', reason });
        return;
      }
      replica.submit(encode(change, replica.state.featureLevel), {
        applied: (outcome) => {
          if (outcome.kind === 'void') {
            failed(new LockstepError('NO_LEADER'));
            return;
          }
          const result = outcome.result as MembershipOutcome;
          if (result.kind === 'refused') done(result);
          else settle(replica, clock, change, result.member, done);
        },
        failed,
      });
    },
    failed,
  });
}

function encode(change: MembershipChange, level: number): Uint8Array {
  switch (change.kind) {
    case 'add':
      return encodeAddMember({ ...change, name: '' });
    case 'promote':
      return encodeUpdateMember({ member: change.member, learner: false });
    case 'remove':
      return encodeRemoveMember(change.member, level);
    case 'update':
      return encodeUpdateMember(change);
  }
}

/** What the records forbid is decided again at apply; what only links show is decided here. */
function refusalOf(replica: Replica, change: MembershipChange): ChangeRefusal | undefined {
  const records = replica.state.members();
  const status = replica.status();
  // Who votes now; whoever is to vote later costs nobody a majority yet.
  const { voters } = status.configuration;
  const linked = (id: MemberId): boolean =>
    id === status.member || status.peers.some((peer) => peer.id === id && peer.connected);
  switch (change.kind) {
    case 'add': {
      const refusal = addRefusal(records, change);
      // A learner costs nobody's majority, so it may come to replace one that is gone.
      if (refusal !== undefined || change.learner) return refusal;
      return voters.every(linked) ? undefined : 'unhealthy';
    }
    case 'promote': {
      const refusal = promoteRefusal(records, change.member);
      if (refusal === 'unknown-member' || refusal === 'no-learner') return refusal;
      const peer = status.peers.find(({ id }) => id === change.member);
      return peer?.caughtUp === true ? refusal : 'not-in-sync';
    }
    case 'remove': {
      const { member } = change;
      const refusal = removeRefusal(records, member);
      // Whoever is not linked takes part in no majority, so nothing is lost with it.
      if (refusal !== undefined || !linked(member)) return refusal;
      const staying = voters.filter((id) => id !== member);
      const live = staying.filter(linked).length;
      return staying.length === 0 || live > Math.floor(staying.length / 2)
        ? undefined
        : 'unhealthy';
    }
    case 'update':
      return updateRefusal(records, change);
  }
}

/** Waits until the configuration in force is what the change asked for. */
function settle(
  replica: Replica,
  clock: Clock,
  change: MembershipChange,
  member: MemberId,
  done: (result: MembershipResult) => void,
): void {
  const isSettled = (): boolean => inForce(replica.status(), change.kind, member);
  if (isSettled()) {
    done({ kind: 'changed', member });
    return;
  }
  const end = (result: MembershipResult): void => {
    timer.cancel();
    unsubscribe();
    done(result);
  };
  const unsubscribe = replica.subscribe({
    transaction: () => {},
    skipped: () => {},
    changed: () => {
      if (isSettled()) end({ kind: 'changed', member });
    },
  });
  const timer = clock.setTimer(SETTLE_MS_MAX, () =>
    end({ kind: 'failed', error: new LockstepError('UNKNOWN_OUTCOME') }),
  );
}

function inForce(
  { configuration, member: self }: ReplicaStatus,
  kind: MembershipChange['kind'],
  member: MemberId,
): boolean {
  switch (kind) {
    case 'add':
      return isMember(configuration, member);
    case 'promote':
      return configuration.votersOutgoing.length === 0 && configuration.voters.includes(member);
    case 'remove':
      // The one that goes may not hear of the last step, which needs nobody's vote any more.
      return member === self ? !isVoter(configuration, member) : !isMember(configuration, member);
    case 'update':
      return true;
  }
}
