import type { IncomingMessage } from 'node:http';
import type { Clock, LockstepError, MemberId, Random } from '@lockstep/model';
import {
  type ChangeRefusal,
  changeMembership,
  isPeerAddress,
  type MembershipChange,
  newEtcdId,
  type Replica,
} from '@lockstep/replica';
import { hasStarted, type MemberRecord } from '@lockstep/state-machine';
import { type Answer, readJsonBody } from './json-body.ts';

/** One member as `/members` shows it. */
export interface MemberRow {
  readonly id: MemberId;
  /** 64-bit id of the etcd door, in hex as etcdctl prints it. */
  readonly etcdId: string;
  /** '' before it has started. */
  readonly name: string;
  readonly peerAddress: string;
  readonly started: boolean;
  /** `joining`: to be a voter once it has caught up. */
  readonly role: 'leader' | 'voter' | 'learner' | 'joining';
  /** A learner that may be promoted. */
  readonly caughtUp: boolean;
  readonly addresses: Readonly<Record<string, string>>;
}

/** What `GET /members` answers, and every change with it. */
export interface MemberTable {
  readonly members: readonly MemberRow[];
  /** The one that was changed. */
  readonly changed?: MemberId;
}

/** Body of `POST /members`. */
export type MemberAction =
  | { readonly action: 'add'; readonly peerAddress: string; readonly learner: boolean }
  | { readonly action: 'promote' | 'remove'; readonly member: MemberId }
  | { readonly action: 'update'; readonly member: MemberId; readonly peerAddress: string };

export interface MemberPorts {
  readonly clock: Clock;
  readonly random: Random;
}

const REFUSALS: Readonly<Record<ChangeRefusal, string>> = {
  'unknown-member': 'there is no such member',
  'no-learner': 'it is no learner: it votes already',
  'address-taken':
    'another member has this peer address; choose another, or remove that member first',
  'id-taken': 'another member has this id; try again',
  'too-many-learners': 'there is a learner already; promote or remove it first',
  'too-few-started': 'too few voters would be left that have started; start those added before',
  'not-in-sync': 'it has not caught up with the leader yet; try again when it has',
  unhealthy: 'too few voters can be reached; bring them back, or remove them first',
};

/** Every member with its part in the cluster, linearizable. */
export function showMembers(replica: Replica, answer: Answer): void {
  replica.barrier({
    reached: () => answer(200, tableOf(replica)),
    failed: failed(answer),
  });
}

/** Changes the members (`MemberAction`) and answers when the change is in force; 409 refuses it. */
export function changeMembers(
  replica: Replica,
  { clock, random }: MemberPorts,
  request: IncomingMessage,
  answer: Answer,
): void {
  readJsonBody(request, answer, (body) => {
    const change = changeOf(body, random);
    if (change === undefined) {
      answer(400, { error: 'no such action, or a part of it is missing' });
      return;
    }
    changeMembership(replica, clock, change, (result) => {
      if (result.kind === 'failed') failed(answer)(result.error);
      else if (result.kind === 'refused') answer(409, { error: REFUSALS[result.reason] });
      else answer(200, { ...tableOf(replica), changed: result.member });
    });
  });
}

function changeOf(
  body: Readonly<Record<string, unknown>>,
  random: Random,
): MembershipChange | undefined {
  const { action: kind, member, peerAddress, learner } = body;
  const isMember = Number.isSafeInteger(member);
  const isAddress = typeof peerAddress === 'string' && isPeerAddress(peerAddress);
  if (kind === 'add' && isAddress && typeof learner === 'boolean') {
    return { kind, etcdId: newEtcdId(random), peerAddress, learner };
  }
  if (kind === 'update' && isMember && isAddress) {
    return { kind, member: member as MemberId, peerAddress };
  }
  if ((kind === 'promote' || kind === 'remove') && isMember) {
    return { kind, member: member as MemberId };
  }
  return undefined;
}

function tableOf(replica: Replica): MemberTable {
  const { configuration, leader, peers } = replica.status();
  const roleOf = ({ id, learner }: MemberRecord): MemberRow['role'] => {
    if (id === leader) return 'leader';
    if (learner) return 'learner';
    return configuration.voters.includes(id) ? 'voter' : 'joining';
  };
  return {
    members: replica.state.members().map((record) => ({
      id: record.id,
      etcdId: record.etcdId.toString(16),
      name: record.name,
      peerAddress: record.peerAddress,
      started: hasStarted(record),
      role: roleOf(record),
      caughtUp: peers.some(({ id, caughtUp }) => id === record.id && caughtUp),
      addresses: record.addresses,
    })),
  };
}

const failed = (answer: Answer) => (error: LockstepError) =>
  answer(503, { error: error.message, hint: error.hint, outcome: error.outcome });
