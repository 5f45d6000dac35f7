import {
  attachSessionCommand,
  changeCommand,
  closeSessionCommand,
  encodeIdentities,
  multiCommand,
  NodeMode,
  OPEN_ACL,
  openSessionCommand,
  type SessionResult,
  type TreeOperation,
} from '@lockstep/adapter-zookeeper';
import { type CommandSession, type LeaseHandle, LeaseKind } from '@lockstep/model';
import type { MemberReplica } from '@lockstep/replica';
import { Client, type ClientContext } from './client.ts';

type Change = Exclude<TreeOperation, { kind: 'check' }>;

const NODES = 5;
const IDENTITIES = encodeIdentities([]);
const PASSWORD = Buffer.from('password');

interface HeldSession extends CommandSession {
  readonly id: bigint;
  readonly timeoutMs: number;
}

/** Sessions that clients have left behind and that others may take over, at another member. */
export class OpenSessions {
  readonly #sessions: { readonly id: bigint; readonly timeoutMs: number }[] = [];

  add(id: bigint, timeoutMs: number): void {
    this.#sessions.push({ id, timeoutMs });
    if (this.#sessions.length > 10) this.#sessions.shift();
  }

  any(at: number): { readonly id: bigint; readonly timeoutMs: number } | undefined {
    return this.#sessions[Math.floor(at * this.#sessions.length)];
  }
}

/** Sessions, creates, sequential ephemerals, setData, deletes and multis of the ZooKeeper door. */
export class ZooKeeperClient extends Client {
  readonly #shared: OpenSessions;
  #session: HeldSession | undefined;

  constructor(context: ClientContext, shared: OpenSessions) {
    super(context);
    this.#shared = shared;
  }

  protected act(replica: MemberReplica): void {
    const session = this.#session;
    if (session === undefined) {
      this.#open(replica);
      return;
    }
    const { stream } = this.context;
    const draw = stream.below(100);
    if (draw < 25) this.#change(replica, session, this.#create(false));
    else if (draw < 45) this.#change(replica, session, this.#create(true));
    else if (draw < 60) this.#change(replica, session, this.#setData());
    else if (draw < 70) this.#change(replica, session, this.#delete());
    else if (draw < 80) this.#multi(replica, session);
    else if (draw < 92) this.#ping(replica, session);
    else if (draw < 94) this.#attach(replica, session);
    else if (draw < 96) this.#attach(replica, this.#shared.any(stream.fraction()) ?? session);
    else if (draw < 98) this.#close(replica, session);
    else {
      // Left to expire.
      this.#session = undefined;
      this.done();
    }
  }

  #path(): string {
    return `/n${this.context.stream.below(NODES)}`;
  }

  #create(underNode: boolean): Change {
    const { stream } = this.context;
    const sequential = underNode || stream.chance(0.2);
    const path = underNode ? `${this.#path()}/c-` : this.#path();
    const mode = underNode && stream.chance(0.7) ? NodeMode.Ephemeral : NodeMode.Persistent;
    return {
      kind: 'create',
      refusal: 0,
      path,
      mode,
      sequential,
      nameable: true,
      data: stream.chance(0.1) ? null : Buffer.from(this.unique()),
      acl: OPEN_ACL,
      ttlMs: 0,
    };
  }

  #setData(): Change {
    const data = Buffer.from(this.unique());
    const version = this.context.stream.chance(0.7) ? -1 : this.context.stream.below(4);
    return { kind: 'setData', refusal: 0, path: this.#path(), version, data };
  }

  #delete(): Change {
    return { kind: 'delete', refusal: 0, path: this.#path(), version: -1 };
  }

  #change(replica: MemberReplica, session: HeldSession, change: Change): void {
    this.#send(replica, changeCommand(session, IDENTITIES, change));
  }

  #multi(replica: MemberReplica, session: HeldSession): void {
    const check: TreeOperation = { kind: 'check', refusal: 0, path: this.#path(), version: -1 };
    const operations = [check, this.#setData(), this.#create(true), this.#create(true)];
    this.#send(replica, multiCommand(session, IDENTITIES, operations));
  }

  #send(replica: MemberReplica, command: Uint8Array): void {
    this.submit(replica, command, (outcome) => {
      if (outcome?.kind === 'void' && outcome.reason.startsWith('session')) {
        this.#session = undefined;
      }
      this.done();
    });
  }

  #open(replica: MemberReplica): void {
    const { stream } = this.context;
    const id = BigInt(stream.u32()) * 1000n + 7n;
    const timeoutMs = stream.between(1000, 5000);
    const command = openSessionCommand({ id, timeoutMs, password: PASSWORD });
    this.#attached(replica, command, id, timeoutMs);
  }

  #attach(replica: MemberReplica, { id, timeoutMs }: Pick<HeldSession, 'id' | 'timeoutMs'>): void {
    const command = attachSessionCommand({ id, timeoutMs, password: PASSWORD });
    this.#attached(replica, command, id, timeoutMs);
  }

  #attached(replica: MemberReplica, command: Uint8Array, id: bigint, timeoutMs: number): void {
    const { world, oracle } = this.context;
    const sentUs = world.nowUs;
    this.submit(replica, command, (outcome) => {
      if (outcome?.kind === 'done') {
        const lease = outcome.result as SessionResult;
        this.#session =
          lease === undefined
            ? undefined
            : { id, timeoutMs, lease: lease.handle, epoch: lease.epoch };
        if (lease !== undefined) {
          oracle.tokens.renewed(LeaseKind.ZooKeeper, id, timeoutMs, sentUs);
          this.#shared.add(id, timeoutMs);
        }
      }
      this.done();
    });
  }

  #ping(replica: MemberReplica, session: HeldSession): void {
    const { world, oracle, node } = this.context;
    const { life } = node;
    const sentUs = world.nowUs;
    const lease: LeaseHandle = session.lease;
    replica.renew(lease, {
      renewed: (alive) => {
        if (!life.alive) return;
        if (alive)
          oracle.tokens.renewed(LeaseKind.ZooKeeper, session.id, session.timeoutMs, sentUs);
        else if (this.#session?.lease === lease) this.#session = undefined;
        this.done();
      },
      failed: () => {
        if (life.alive) this.done();
      },
    });
  }

  #close(replica: MemberReplica, session: HeldSession): void {
    this.#session = undefined;
    this.#send(replica, closeSessionCommand(session));
  }
}
