import type { ByteString, Revision } from '@lockstep/model';
import type { Door } from '../door.ts';
import type {
  CampaignRequest,
  CampaignResponse,
  LeaderKey,
  LeaderRequest,
  LeaderResponse,
  ProclaimRequest,
  ProclaimResponse,
  ResignRequest,
  ResignResponse,
} from '../gen/v3election.ts';
import { type KeyRange, keyRange, prefixEnd } from '../key-range.ts';
import { ETCD, type EtcdRecord } from '../keyspace.ts';
import { keyBytes, keyValue } from '../replies.ts';
import { type Call, type Done, type Output, rpcError } from '../session.ts';
import type { Subscriber } from '../watch/hub.ts';
import { Contest, ifCreatedAt, putOperation, submitTxn } from './contest.ts';

/** The Election service: the election recipe run by the server. */
export class ElectionService {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  campaign(request: CampaignRequest, call: Call, done: Done<CampaignResponse>): void {
    const { lease, value } = request;
    const name = request.name.toString('latin1');
    const contender = { name, leaseId: lease, value, proclaims: true };
    new Contest(this.#door, contender, call, (error, held) => {
      if (error !== undefined) return done(error);
      const { key, revision: rev } = held!;
      const leader: LeaderKey = { name: request.name, key: keyBytes(key), rev, lease };
      return done(undefined, { header: this.#door.header(), leader });
    });
  }

  proclaim(request: ProclaimRequest, _call: Call, done: Done<ProclaimResponse>): void {
    const { leader, value } = request;
    if (leader === undefined) {
      done(rpcError('LEADER_FIELD_MISSING'));
      return;
    }
    const key = leader.key.toString('latin1');
    const put = putOperation(key, value, leader.lease);
    submitTxn(this.#door, ifCreatedAt(key, leader.rev, put), (error, result) => {
      if (error !== undefined) done(error);
      else if (result!.succeeded) done(undefined, { header: this.#door.header() });
      else done(rpcError('ELECTION_NOT_LEADER'));
    });
  }

  /** Resigning a leadership that is over is no error. */
  resign(request: ResignRequest, _call: Call, done: Done<ResignResponse>): void {
    const { leader } = request;
    if (leader === undefined) {
      done(rpcError('LEADER_FIELD_MISSING'));
      return;
    }
    const { key } = leader;
    const requestDeleteRange = { key, rangeEnd: Buffer.alloc(0), prevKv: false };
    const txn = ifCreatedAt(key.toString('latin1'), leader.rev, [{ requestDeleteRange }]);
    submitTxn(this.#door, txn, (error) => {
      if (error !== undefined) done(error);
      else done(undefined, { header: this.#door.header() });
    });
  }

  leader(request: LeaderRequest, _call: Call, done: Done<LeaderResponse>): void {
    const range = electionRange(request);
    this.#door.barrier(() => {
      const leader = currentLeader(this.#door, range);
      if (leader === undefined) return done(rpcError('ELECTION_NO_LEADER'));
      const kv = keyValue(leader.key, leader.record);
      return done(undefined, { header: this.#door.header(), kv });
    }, done);
  }

  observe(request: LeaderRequest, call: Output<LeaderResponse>): void {
    const range = electionRange(request);
    this.#door.barrier(
      () => new Observer(this.#door, range, call),
      (error) => call.end(error),
    );
  }
}

interface Leader {
  readonly key: ByteString;
  readonly record: EtcdRecord;
}

/** The keys of the contenders of an election. */
function electionRange(request: LeaderRequest): KeyRange {
  const prefix = `${request.name.toString('latin1')}/`;
  return keyRange(prefix, prefixEnd(prefix));
}

/** The contender whose key is oldest. */
function currentLeader(door: Door, range: KeyRange): Leader | undefined {
  let leader: Leader | undefined;
  door.replica.state.range(ETCD, range.from, range.to, (key, record) => {
    if (leader === undefined || record.createRevision < leader.record.createRevision) {
      leader = { key, record };
    }
    return undefined;
  });
  return leader;
}

/** Sends each new leader and each new proclamation of the present one. */
class Observer implements Subscriber {
  readonly range: KeyRange;
  readonly #door: Door;
  readonly #call: Output<LeaderResponse>;
  #seen: Revision = 0;
  #sending = false;
  #touched = false;

  constructor(door: Door, range: KeyRange, call: Output<LeaderResponse>) {
    this.#door = door;
    this.range = range;
    this.#call = call;
    door.hub.add(this);
    call.onCancelled(() => door.hub.remove(this));
    this.#look();
  }

  offer(): boolean {
    if (this.#touched) return false;
    this.#touched = true;
    return true;
  }

  flush(): void {
    this.#touched = false;
    this.#look();
  }

  skipped(): void {
    this.#look();
  }

  /** One message at a time: a slow observer skips leaders and gets the newest. */
  #look(): void {
    if (this.#sending || this.#call.cancelled) return;
    const leader = currentLeader(this.#door, this.range);
    if (leader === undefined || leader.record.modRevision === this.#seen) return;
    this.#seen = leader.record.modRevision;
    this.#sending = true;
    const kv = keyValue(leader.key, leader.record);
    this.#call.send({ header: this.#door.header(), kv }, () => {
      this.#sending = false;
      this.#look();
    });
  }
}
