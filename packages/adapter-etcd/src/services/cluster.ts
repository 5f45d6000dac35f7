import {
  type ChangeRefusal,
  changeMembership,
  isPeerAddress,
  type MembershipChange,
  newEtcdId,
} from '@lockstep/replica';
import type { MemberRecord } from '@lockstep/state-machine';
import type { Door } from '../door.ts';
import { type EtcdErrorName, etcdErrorOf } from '../errors.ts';
import type {
  Member,
  MemberAddRequest,
  MemberAddResponse,
  MemberListRequest,
  MemberListResponse,
  MemberPromoteRequest,
  MemberPromoteResponse,
  MemberRemoveRequest,
  MemberRemoveResponse,
  MemberUpdateRequest,
  MemberUpdateResponse,
  ResponseHeader,
} from '../gen/rpc.ts';
import { type Call, type Done, rpcError } from '../session.ts';

const REFUSALS: Readonly<Record<ChangeRefusal, EtcdErrorName>> = {
  'unknown-member': 'MEMBER_NOT_FOUND',
  'no-learner': 'MEMBER_NOT_LEARNER',
  'address-taken': 'PEER_URL_EXISTS',
  'id-taken': 'MEMBER_EXISTS',
  'too-many-learners': 'TOO_MANY_LEARNERS',
  'too-few-started': 'NOT_ENOUGH_STARTED',
  'not-in-sync': 'LEARNER_NOT_READY',
  unhealthy: 'UNHEALTHY',
};

/** An address of a member record as clients want it: a URL. */
function url(address: string): string {
  return address.includes('://') ? address : `http://${address}`;
}

function memberMessage(record: MemberRecord): Member {
  const client = record.addresses.etcd;
  return {
    ID: record.etcdId,
    // Clients take a member for started when it has a name: it has published itself by then.
    name: record.version === '' ? '' : record.name,
    peerURLs: record.peerAddress === '' ? [] : [url(record.peerAddress)],
    clientURLs: client === undefined || client === '' ? [] : [url(client)],
    isLearner: record.learner,
  };
}

const SCHEME = 'http://';

/** One `http://host:port` without a path: members listen in one place, and not behind TLS yet. */
function peerAddressOf(urls: readonly string[]): string | undefined {
  const [only = '', ...others] = urls;
  const address = only.slice(SCHEME.length);
  if (others.length > 0 || !only.startsWith(SCHEME) || !isPeerAddress(address)) return undefined;
  return address;
}

interface MembersResponse {
  readonly header: ResponseHeader | undefined;
  readonly members: Member[];
}

/** The Cluster service. Its headers carry no revision. */
export class ClusterService {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  memberList(request: MemberListRequest, _call: Call, done: Done<MemberListResponse>): void {
    const answer = (): void => done(undefined, this.#members());
    if (request.linearizable) this.#door.barrier(answer, done);
    else answer();
  }

  memberAdd(request: MemberAddRequest, _call: Call, done: Done<MemberAddResponse>): void {
    const peerAddress = peerAddressOf(request.peerURLs);
    if (peerAddress === undefined) {
      done(rpcError('BAD_MEMBER_URLS'));
      return;
    }
    const etcdId = newEtcdId(this.#door.ports.random);
    const add = { kind: 'add', etcdId, peerAddress, learner: request.isLearner } as const;
    this.#change(add, done, (response) => ({
      ...response,
      member: response.members.find(({ ID }) => ID === etcdId),
    }));
  }

  memberRemove(request: MemberRemoveRequest, _call: Call, done: Done<MemberRemoveResponse>): void {
    this.#changeOne(request.ID, (member) => ({ kind: 'remove', member }), done);
  }

  memberPromote(
    request: MemberPromoteRequest,
    _call: Call,
    done: Done<MemberPromoteResponse>,
  ): void {
    this.#changeOne(request.ID, (member) => ({ kind: 'promote', member }), done);
  }

  memberUpdate(request: MemberUpdateRequest, _call: Call, done: Done<MemberUpdateResponse>): void {
    const peerAddress = peerAddressOf(request.peerURLs);
    if (peerAddress === undefined) done(rpcError('BAD_MEMBER_URLS'));
    else this.#changeOne(request.ID, (member) => ({ kind: 'update', member, peerAddress }), done);
  }

  /** The member's id is looked up once this member knows all changes before. */
  #changeOne(
    etcdId: bigint,
    changeOf: (member: number) => MembershipChange,
    done: Done<MembersResponse>,
  ): void {
    const find = (): void => {
      const records = this.#door.replica.state.members();
      const record = records.find((each) => each.etcdId === etcdId);
      if (record === undefined) done(rpcError('MEMBER_NOT_FOUND'));
      else this.#change(changeOf(record.id), done, (response) => response);
    };
    this.#door.barrier(find, done);
  }

  #change<S>(
    change: MembershipChange,
    done: Done<S>,
    answer: (response: MembersResponse) => S,
  ): void {
    const { replica, ports } = this.#door;
    changeMembership(replica, ports.clock, change, (result) => {
      if (result.kind === 'failed') done(rpcError(etcdErrorOf(result.error)));
      else if (result.kind === 'refused') done(rpcError(REFUSALS[result.reason]));
      else done(undefined, answer(this.#members()));
    });
  }

  #members(): MembersResponse {
    const records = [...this.#door.replica.state.members()];
    records.sort((a, b) => (a.etcdId < b.etcdId ? -1 : 1));
    return { header: this.#door.header(0), members: records.map(memberMessage) };
  }
}
