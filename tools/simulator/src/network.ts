import type {
  Incarnation,
  LinkInfo,
  MemberId,
  Network,
  NetworkHandler,
  PeerAddress,
} from '@lockstep/model';
import { decodeFrame } from '@lockstep/transport';
import type { Stream } from './seed.ts';
import type { Life, World } from './world.ts';

type Channel = 'control' | 'bulk';

/** As the mesh: how long the member with the smaller id is left to dial before the other does. */
const DIAL_PATIENCE_US = 1_000_000;
const UNSENT_BYTES_MAX = 4 * 1024 * 1024;
/** A frame of a connection long gone may still turn up so much later. */
const GHOST_MS_MAX = 60_000;

/** How frames travel; drawn from the seed, changed by the nemesis. Plain data. */
export interface Weather {
  /** Mean of the exponential delay on top of the least one. */
  meanUs: number;
  /** Share of frames that take the tail instead. */
  tailShare: number;
  tailUs: number;
  /** Share of frames that never arrive. */
  lossShare: number;
  /** Share of frames that turn up once more, when their connection is long gone. */
  ghostShare: number;
  /** Bandwidth of one direction of a link; 0: without limit. */
  bytesPerMs: number;
  /** Share of snapshot chunks that arrive with a flipped bit. */
  damageShare: number;
}

/**
 * What a process says of itself in the handshake, and whom it refuses. `isPeer`: whether it wants
 * that link itself.
 */
export interface Greeting {
  readonly dataDirectory: string;
  refuses(member: MemberId, dataDirectory: string, isPeer: boolean): boolean;
}

/** One direction of one link: FIFO per channel; `held` while the direction is clogged. */
class Lane {
  readonly lastUs: Record<Channel, number> = { control: 0, bulk: 0 };
  readonly unsent: Record<Channel, number> = { control: 0, bulk: 0 };
  /** Until then the wire is busy with what was sent before. */
  readonly busyUs: Record<Channel, number> = { control: 0, bulk: 0 };
  held: { frame: Uint8Array; channel: Channel }[] = [];
}

/** One end of a link, as the process there sees it. */
interface End {
  readonly network: SimNetwork;
  readonly lane: Lane;
  state: 'rising' | 'up' | 'down';
}

/** A connection epoch between two processes. */
interface Link {
  readonly id: number;
  readonly ends: readonly [End, End];
  broken: boolean;
  /** Frames still travelling when it broke are gone at once, or still arrive (late frames). */
  drops: boolean;
}

/**
 * The wires of a cluster. Every pair has one link at a time; a link is FIFO in each direction and
 * loss is always the loss of the link, as with TCP. Directions can be clogged (nothing arrives
 * until it is unclogged or the link breaks) and links can be broken.
 */
export class Wires {
  readonly world: World;
  readonly weather: Weather;
  readonly stream: Stream;
  readonly #fair: Weather;
  /** How often a process turned another away. */
  refusals = 0;
  /** Called with each frame that comes to a process, just before it does. */
  delivered: (to: MemberId, from: MemberId) => void = () => {};
  /** Called with each control frame that a process sends. */
  sending: (from: MemberId, frame: Uint8Array) => void = () => {};
  readonly #networks = new Map<MemberId, SimNetwork>();
  readonly #links = new Map<string, Link>();
  readonly #clogs = new Map<string, number>();
  #count = 0;

  constructor(world: World, weather: Weather) {
    this.world = world;
    this.weather = { ...weather };
    this.#fair = weather;
    this.stream = world.stream('network');
  }

  /** The Network port of one process life. */
  join(member: MemberId, incarnation: Incarnation, life: Life, greeting: Greeting): SimNetwork {
    const network = new SimNetwork(this, member, incarnation, life, greeting);
    this.#networks.set(member, network);
    return network;
  }

  isClogged(from: MemberId, to: MemberId): boolean {
    return (this.#clogs.get(`${from}>${to}`) ?? 0) > 0;
  }

  /** Nothing of `from` arrives at `to` until as many calls of `unclog`. */
  clog(from: MemberId, to: MemberId): void {
    const key = `${from}>${to}`;
    this.#clogs.set(key, (this.#clogs.get(key) ?? 0) + 1);
    const link = this.#links.get(pairOf(from, to));
    // Keep-alives of either side notice after a while.
    this.world.after(this.stream.between(500_000, 8_000_000), undefined, 'notice', () => {
      if (link !== undefined && this.isClogged(from, to)) this.#break(link);
    });
  }

  unclog(from: MemberId, to: MemberId): void {
    const key = `${from}>${to}`;
    this.#clogs.set(key, Math.max(0, (this.#clogs.get(key) ?? 0) - 1));
    if (this.isClogged(from, to)) return;
    const link = this.#links.get(pairOf(from, to));
    const end = link?.ends.find(({ network }) => network.member === from);
    if (link !== undefined && end !== undefined) {
      const { held } = end.lane;
      end.lane.held = [];
      for (const { frame, channel } of held) this.#travel(link, end, frame, channel);
    }
    this.dial(from, to);
  }

  /** All faults between these members, and all bad weather, are over. */
  calm(members: readonly MemberId[]): void {
    Object.assign(this.weather, this.#fair, { lossShare: 0, ghostShare: 0, damageShare: 0 });
    this.weather.bytesPerMs = 0;
    for (const key of [...this.#clogs.keys()]) {
      const [from, to] = key.split('>').map(Number) as [number, number];
      if (!members.includes(from) || !members.includes(to)) continue;
      this.#clogs.set(key, 1);
      this.unclog(from, to);
    }
  }

  /** One kind of bad weather is over. */
  clearUp(kind: string): void {
    const { weather } = this;
    const fair = this.#fair;
    if (kind === 'storm') weather.meanUs = fair.meanUs;
    else if (kind === 'loss') weather.lossShare = fair.lossShare;
    else if (kind === 'ghosts') weather.ghostShare = fair.ghostShare;
    else if (kind === 'narrow') weather.bytesPerMs = fair.bytesPerMs;
    else weather.damageShare = fair.damageShare;
  }

  /** Resets the connection between two members, if there is one: any, or that number only. */
  reset(a: MemberId, b: MemberId, number?: number): void {
    const link = this.#links.get(pairOf(a, b));
    if (link !== undefined && (number ?? link.id) === link.id) this.#break(link);
  }

  /** Tries to make the link of a pair after a while; given up silently when it cannot be. */
  dial(a: MemberId, b: MemberId): void {
    this.world.after(this.stream.between(1_000, 250_000), undefined, 'dial', () => {
      this.#connect(a, b);
    });
  }

  /** A process is gone: the other ends find out sooner or later, new links may come before. */
  gone(network: SimNetwork): void {
    if (this.#networks.get(network.member) === network) this.#networks.delete(network.member);
    for (const link of this.#links.values()) {
      if (link.ends.some((end) => end.network === network)) this.#break(link);
    }
  }

  send(network: SimNetwork, to: MemberId, frame: Uint8Array, channel: Channel): boolean {
    const link = this.#links.get(pairOf(network.member, to));
    const end = link?.ends.find((each) => each.network === network);
    if (link === undefined || end?.state !== 'up') return false;
    if (end.lane.unsent[channel] + frame.length > UNSENT_BYTES_MAX) return false;
    end.lane.unsent[channel] += frame.length;
    if (this.isClogged(network.member, to)) end.lane.held.push({ frame, channel });
    else this.#travel(link, end, frame, channel);
    return true;
  }

  unsent(network: SimNetwork, to: MemberId, channel: Channel): number {
    const link = this.#links.get(pairOf(network.member, to));
    return link?.ends.find((each) => each.network === network)?.lane.unsent[channel] ?? 0;
  }

  #travel(link: Link, from: End, frame: Uint8Array, channel: Channel): void {
    const { world, weather, stream } = this;
    const { lane } = from;
    let startUs = world.nowUs;
    if (weather.bytesPerMs > 0) {
      startUs =
        Math.max(startUs, lane.busyUs[channel]) + (frame.length / weather.bytesPerMs) * 1000;
      lane.busyUs[channel] = startUs;
    }
    const arrivalUs = Math.max(lane.lastUs[channel] + 1, startUs + this.#delayUs());
    lane.lastUs[channel] = arrivalUs;
    const to = link.ends[0] === from ? link.ends[1] : link.ends[0];
    const isLost = weather.lossShare > 0 && stream.chance(weather.lossShare);
    if (weather.ghostShare > 0 && stream.chance(weather.ghostShare)) {
      this.#haunt(link, from, to, Uint8Array.from(frame), channel);
    }
    if (channel === 'bulk' && weather.damageShare > 0 && stream.chance(weather.damageShare)) {
      this.#damage(frame);
    }
    world.at(arrivalUs, to.network.life, channel, () => {
      lane.unsent[channel] -= frame.length;
      if (isLost || to.state !== 'up' || (link.broken && link.drops)) return;
      this.#deliver(to.network, link, from, frame, channel);
    });
  }

  /** The frame comes again on its old connection, to whichever process then runs. */
  #haunt(link: Link, from: End, to: End, frame: Uint8Array, channel: Channel): void {
    const delayUs = this.stream.between(1_000, GHOST_MS_MAX * 1000) * this.stream.fraction();
    this.world.after(delayUs, undefined, 'ghost', () => {
      const network = this.#networks.get(to.network.member);
      // Within one connection nothing comes twice or late.
      if (!link.broken || network === undefined || !network.life.alive) return;
      if (to.network === network && to.state !== 'down') return;
      this.world.at(this.world.nowUs, network.life, channel, () => {
        this.#deliver(network, link, from, frame, channel);
      });
    });
  }

  #deliver(to: SimNetwork, link: Link, from: End, frame: Uint8Array, channel: Channel): void {
    this.delivered(to.member, from.network.member);
    to.handler?.frame(infoOf(link, from), frame, channel);
  }

  /** A bit of a snapshot's records flips on the way, under the checksum of its chunk. */
  #damage(frame: Uint8Array): void {
    for (const message of decodeFrame(frame)) {
      if (message.kind !== 'snapshot-chunk' || message.bytes.length === 0) continue;
      const at = this.stream.below(message.bytes.length);
      const { buffer, byteOffset } = message.bytes;
      // The message is a view of the frame.
      if (buffer !== frame.buffer) continue;
      const byte = byteOffset - frame.byteOffset + at;
      frame[byte] = frame[byte]! ^ (1 << this.stream.below(8));
    }
  }

  #delayUs(): number {
    const { stream, weather } = this;
    const tail = stream.chance(weather.tailShare);
    return 50 + stream.exponential(tail ? weather.tailUs : weather.meanUs);
  }

  #connect(a: MemberId, b: MemberId, waited = false): void {
    const [one, two] = [this.#networks.get(Math.min(a, b)), this.#networks.get(Math.max(a, b))];
    if (one === undefined || two === undefined) return;
    const key = pairOf(a, b);
    const former = this.#links.get(key);
    if (former !== undefined && !former.broken) return;
    if (!one.wants(two.member)) {
      if (!two.wants(one.member)) return;
      if (!waited) {
        this.world.after(DIAL_PATIENCE_US, undefined, 'dial', () => this.#connect(a, b, true));
        return;
      }
    }
    if (this.isClogged(a, b) || this.isClogged(b, a)) return;
    if (one.refuses(two) || two.refuses(one)) {
      this.refusals += 1;
      return;
    }
    const ends: [End, End] = [
      { network: one, lane: new Lane(), state: 'rising' },
      { network: two, lane: new Lane(), state: 'rising' },
    ];
    const link: Link = { id: ++this.#count, ends, broken: false, drops: this.stream.chance(0.5) };
    this.#links.set(key, link);
    for (const [at, end] of ends.entries()) {
      const other = ends[1 - at]!;
      const upUs = this.world.nowUs + this.#delayUs();
      other.lane.lastUs.control = upUs;
      other.lane.lastUs.bulk = upUs;
      this.world.at(upUs, end.network.life, 'link-up', () => {
        // A link that broke while it rose was never seen here.
        if (end.state !== 'rising') return;
        if (former !== undefined) this.#down(former, end.network);
        end.state = 'up';
        end.network.handler?.linkUp(infoOf(link, other));
      });
    }
  }

  #break(link: Link): void {
    if (link.broken) return;
    link.broken = true;
    const [one, two] = link.ends;
    for (const { network } of link.ends) {
      const detectUs = this.stream.chance(0.8) ? 20_000 : 3_000_000;
      this.world.after(this.stream.between(10, detectUs), network.life, 'link-down', () => {
        this.#down(link, network);
      });
    }
    this.dial(one.network.member, two.network.member);
  }

  #down(link: Link, network: SimNetwork): void {
    const end = link.ends.find((each) => each.network === network);
    if (end === undefined || end.state === 'down') return;
    const wasUp = end.state === 'up';
    end.state = 'down';
    const other = link.ends[0] === end ? link.ends[1] : link.ends[0];
    if (wasUp) network.handler?.linkDown(infoOf(link, other));
  }
}

function pairOf(a: MemberId, b: MemberId): string {
  return a < b ? `${a}-${b}` : `${b}-${a}`;
}

function infoOf(link: Link, other: End): LinkInfo {
  return {
    member: other.network.member,
    incarnation: other.network.incarnation,
    link: link.id,
  };
}

/** One process's end of the wires. */
export class SimNetwork implements Network {
  readonly member: MemberId;
  readonly incarnation: Incarnation;
  readonly life: Life;
  handler: NetworkHandler | undefined;
  readonly #wires: Wires;
  readonly #greeting: Greeting;
  #peers = new Set<MemberId>();

  constructor(
    wires: Wires,
    member: MemberId,
    incarnation: Incarnation,
    life: Life,
    greeting: Greeting,
  ) {
    this.#wires = wires;
    this.#greeting = greeting;
    this.member = member;
    this.incarnation = incarnation;
    this.life = life;
  }

  wants(peer: MemberId): boolean {
    return this.life.alive && this.handler !== undefined && this.#peers.has(peer);
  }

  /** Also everybody while nothing runs here that could judge. */
  refuses(other: SimNetwork): boolean {
    if (!this.life.alive || this.handler === undefined) return true;
    const { member } = other;
    return this.#greeting.refuses(member, other.#greeting.dataDirectory, this.wants(member));
  }

  start(handler: NetworkHandler): void {
    this.handler = handler;
    for (const peer of this.#peers) this.#wires.dial(this.member, peer);
  }

  setPeers(peers: readonly PeerAddress[]): void {
    this.#peers = new Set(peers.map(({ id }) => id));
    if (this.handler === undefined) return;
    for (const peer of this.#peers) this.#wires.dial(this.member, peer);
  }

  send(to: MemberId, frame: Uint8Array, channel: Channel = 'control'): boolean {
    if (!this.life.alive) return false;
    if (channel === 'control') this.#wires.sending(this.member, frame);
    return this.#wires.send(this, to, frame, channel);
  }

  unsentBytes(to: MemberId, channel: Channel = 'control'): number {
    return this.#wires.unsent(this, to, channel);
  }

  reset(link: LinkInfo): void {
    if (this.life.alive) this.#wires.reset(this.member, link.member, link.link);
  }

  close(done: () => void): void {
    this.handler = undefined;
    this.#wires.gone(this);
    this.#wires.world.after(10, this.life, 'post', done);
  }
}
