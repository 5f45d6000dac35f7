import type {
  Incarnation,
  LinkInfo,
  MemberId,
  Network,
  NetworkHandler,
  PeerAddress,
  Scheduler,
} from '@lockstep/model';

type Channel = 'control' | 'bulk';

const UNSENT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Networks of members in one process: the twin of the mesh, over a Scheduler. Frames are delivered
 * in the order sent, one posted call-back each. `cut` and `heal` make partitions for tests.
 */
export class LoopbackHub {
  readonly #scheduler: Scheduler;
  readonly #networks = new Map<MemberId, LoopbackNetwork>();
  readonly #cuts = new Set<string>();
  #links = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /**
   * The network of one process life of a member; replaces that of a former life. `admits`: which
   * members that `setPeers` does not name may link themselves all the same.
   */
  join(member: MemberId, incarnation: Incarnation, admits: Admits = () => false): Network {
    this.#networks.get(member)?.leave();
    const network = new LoopbackNetwork(this, this.#scheduler, member, incarnation, admits);
    this.#networks.set(member, network);
    return network;
  }

  /** Breaks the link between two members; frames on their way are lost. */
  cut(a: MemberId, b: MemberId): void {
    this.#cuts.add(pairOf(a, b));
    this.#networks.get(a)?.drop(b);
  }

  heal(a: MemberId, b: MemberId): void {
    this.#cuts.delete(pairOf(a, b));
    this.#networks.get(a)?.connect();
    this.#networks.get(b)?.connect();
  }

  /** The other end, when one wants the link, the other does or admits it, and nothing cuts it. */
  reach(from: LoopbackNetwork, to: MemberId): LoopbackNetwork | undefined {
    const other = this.#networks.get(to);
    if (other === undefined || this.#cuts.has(pairOf(from.member, to))) return undefined;
    return other.accepts(from.member) && from.wants(to) ? other : undefined;
  }

  nextLink(): number {
    return ++this.#links;
  }

  left(network: LoopbackNetwork): void {
    if (this.#networks.get(network.member) === network) this.#networks.delete(network.member);
  }
}

function pairOf(a: MemberId, b: MemberId): string {
  return a < b ? `${a}-${b}` : `${b}-${a}`;
}

type Admits = (member: MemberId) => boolean;

interface LoopbackLink {
  readonly info: LinkInfo;
  readonly other: LoopbackNetwork;
  unsentBytes: number;
}

/** One member's end; made by `LoopbackHub.join`. */
export class LoopbackNetwork implements Network {
  readonly member: MemberId;
  readonly incarnation: Incarnation;
  readonly #hub: LoopbackHub;
  readonly #scheduler: Scheduler;
  readonly #links = new Map<MemberId, LoopbackLink>();
  readonly #admits: Admits;
  #peers = new Set<MemberId>();
  #handler: NetworkHandler | undefined;

  constructor(
    hub: LoopbackHub,
    scheduler: Scheduler,
    member: MemberId,
    incarnation: Incarnation,
    admits: Admits,
  ) {
    this.#admits = admits;
    this.#hub = hub;
    this.#scheduler = scheduler;
    this.member = member;
    this.incarnation = incarnation;
  }

  start(handler: NetworkHandler): void {
    this.#handler = handler;
    this.connect();
  }

  setPeers(peers: readonly PeerAddress[]): void {
    this.#peers = new Set(peers.map((peer) => peer.id).filter((id) => id !== this.member));
    for (const id of [...this.#links.keys()]) if (!this.accepts(id)) this.drop(id);
    this.connect();
  }

  send(to: MemberId, frame: Uint8Array, channel: Channel = 'control'): boolean {
    const link = this.#links.get(to);
    if (link === undefined || link.unsentBytes + frame.length > UNSENT_BYTES_MAX) return false;
    link.unsentBytes += frame.length;
    this.#scheduler.post(() => {
      link.unsentBytes -= frame.length;
      if (this.#links.get(to) === link) link.other.receive(this.member, frame, channel);
    });
    return true;
  }

  unsentBytes(to: MemberId): number {
    return this.#links.get(to)?.unsentBytes ?? 0;
  }

  reset(link: LinkInfo): void {
    if (this.#links.get(link.member)?.info.link !== link.link) return;
    this.drop(link.member);
    this.#scheduler.post(() => this.connect());
  }

  close(done: () => void): void {
    this.leave();
    this.#scheduler.post(done);
  }

  // ---- called by the hub and the other end -------------------------------------------------

  wants(peer: MemberId): boolean {
    return this.#handler !== undefined && this.#peers.has(peer);
  }

  /** Also without wanting it. */
  accepts(peer: MemberId): boolean {
    return this.wants(peer) || (this.#handler !== undefined && this.#admits(peer));
  }

  /** Makes every link that this side wants and the other accepts. */
  connect(): void {
    for (const peer of this.#peers) {
      if (this.#links.has(peer)) continue;
      const other = this.#hub.reach(this, peer);
      if (other === undefined) continue;
      const link = this.#hub.nextLink();
      this.#up(other, link);
      other.#up(this, link);
    }
  }

  #up(other: LoopbackNetwork, link: number): void {
    const info = { member: other.member, incarnation: other.incarnation, link };
    this.#links.set(other.member, { info, other, unsentBytes: 0 });
    this.#scheduler.post(() => this.#handler?.linkUp(info));
  }

  /** Ends the link to a peer at both sides. */
  drop(peer: MemberId): void {
    const link = this.#links.get(peer);
    if (link === undefined) return;
    this.#down(peer);
    link.other.#down(this.member);
  }

  #down(peer: MemberId): void {
    const link = this.#links.get(peer);
    if (link === undefined) return;
    this.#links.delete(peer);
    this.#scheduler.post(() => this.#handler?.linkDown(link.info));
  }

  receive(from: MemberId, frame: Uint8Array, channel: Channel): void {
    const link = this.#links.get(from);
    if (link !== undefined) this.#handler?.frame(link.info, frame, channel);
  }

  /** The process is gone: the others lose their links, nothing more is delivered here. */
  leave(): void {
    this.#handler = undefined;
    for (const peer of [...this.#links.keys()]) this.drop(peer);
    this.#hub.left(this);
  }
}
