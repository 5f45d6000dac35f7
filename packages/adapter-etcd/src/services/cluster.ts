import type { MemberRecord } from '@lockstep/state-machine';
import type { Door } from '../door.ts';
import type { Member, MemberListRequest, MemberListResponse } from '../gen/rpc.ts';
import { type Call, type Done, UNIMPLEMENTED } from '../session.ts';

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

/** The Cluster service. Its headers carry no revision. */
export class ClusterService {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  memberList(request: MemberListRequest, _call: Call, done: Done<MemberListResponse>): void {
    const answer = (): void => {
      const records = this.#door.replica.state.members();
      done(undefined, { header: this.#door.header(0), members: records.map(memberMessage) });
    };
    if (request.linearizable) this.#door.barrier(answer, done);
    else answer();
  }

  /** Members are added and removed by `lockstep member`, not yet through this door. */
  refuseChange(_request: unknown, _call: Call, done: Done<never>): void {
    done(UNIMPLEMENTED);
  }
}
