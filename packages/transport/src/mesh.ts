import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  type Incarnation,
  invariant,
  type LinkInfo,
  LockstepError,
  type MemberId,
  type Network,
  type NetworkHandler,
  type PeerAddress,
} from '@lockstep/model';
import { type WebSocket, WebSocketServer } from 'ws';
import { Connection, type ConnectionEvents } from './connection.ts';
import { Dialler } from './dialler.ts';
import { type Handshake, PEER_PROTOCOL } from './handshake.ts';

type Channel = 'control' | 'bulk';

const UNSENT_BYTES_MAX = 64 * 1024 * 1024;
const FRAME_BYTES_MAX = 64 * 1024 * 1024;
const ALIVE_CHECK_MS = 3000;

export interface MeshOptions {
  /** `host:port` to listen on; port 0 takes a free one. */
  readonly listen: string;
  /** Flag named in the error when the address is in use. */
  readonly listenFlag?: string;
  readonly cluster: string;
  readonly member: MemberId;
  readonly incarnation: Incarnation;
  readonly dataDirectory: string;
  /** Why another member is refused although cluster and ids fit (another data directory). */
  readonly verify?: (theirs: Handshake) => string | undefined;
  /** Links made and lost, in words. */
  readonly log?: (text: string) => void;
  /** Handshakes refused, by this member or the other, with the reason; left out: told to `log`. */
  readonly refused?: (text: string) => void;
  /** Answers GET /members, so that a member that joins can ask who is who. */
  readonly describe?: () => unknown;
  readonly unsentBytesMax?: number;
}

/** The Network of production: one WebSocket per pair of members, and one more for bulk. */
export interface Mesh extends Network {
  /** `host:port` really listened on. */
  readonly address: string;
}

/**
 * Opens the peer listener. Fails with ADDRESS_IN_USE (naming the flag) or INVALID_OPTION.
 * Of two members the one with the smaller id dials, so that a pair has exactly one link.
 */
export function openMesh(
  options: MeshOptions,
  done: (error: LockstepError | undefined, mesh: Mesh) => void,
): void {
  const mesh = new WebSocketMesh(options);
  mesh.listen((error) => done(error, mesh));
}

interface Peer {
  readonly id: MemberId;
  address: string;
  readonly diallers: Partial<Record<Channel, Dialler>>;
  readonly connections: Partial<Record<Channel, Connection>>;
  /** Present while the control link is up. */
  info: LinkInfo | undefined;
}

class WebSocketMesh implements Mesh {
  readonly #options: MeshOptions;
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  readonly #peers = new Map<MemberId, Peer>();
  readonly #shaking = new Set<Connection>();
  #handler: NetworkHandler | undefined;
  #aliveTimer: NodeJS.Timeout | undefined;
  #links = 0;
  #address = '';
  #closed = false;

  constructor(options: MeshOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#sockets = new WebSocketServer({
      server: this.#server,
      path: '/peer',
      perMessageDeflate: false,
      skipUTF8Validation: true,
      maxPayload: FRAME_BYTES_MAX,
    });
    this.#sockets.on('connection', (socket) => this.#accept(socket));
    // Reported by the HTTP server as well, where `listen` looks at it.
    this.#sockets.on('error', () => {});
  }

  get address(): string {
    return this.#address;
  }

  listen(done: (error: LockstepError | undefined) => void): void {
    const { listen, listenFlag = '--listen-peer' } = this.#options;
    const at = listen.lastIndexOf(':');
    const host = listen.slice(0, at).replace(/^\[|\]$/g, '');
    const port = Number(listen.slice(at + 1));
    if (at < 0 || !Number.isInteger(port) || port < 0 || port > 65535) {
      done(new LockstepError('INVALID_OPTION', listenFlag, listen, 'use HOST:PORT'));
      return;
    }
    this.#server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') {
        done(new LockstepError('ADDRESS_IN_USE', listen, listenFlag));
      } else {
        done(new LockstepError('INVALID_OPTION', listenFlag, listen, error.message));
      }
    });
    this.#server.listen({ host: host === '' ? undefined : host, port }, () => {
      const bound = this.#server.address();
      const boundPort = typeof bound === 'object' && bound !== null ? bound.port : port;
      this.#address = `${listen.slice(0, at)}:${boundPort}`;
      this.#server.removeAllListeners('error');
      this.#server.on('error', (error) => this.#log(`peer listener: ${error.message}`));
      done(undefined);
    });
  }

  start(handler: NetworkHandler): void {
    invariant(this.#handler === undefined, 'the mesh is started once');
    this.#handler = handler;
    for (const peer of this.#peers.values()) this.#dialPeer(peer);
    this.#aliveTimer = setInterval(() => this.#checkAlive(), ALIVE_CHECK_MS);
  }

  setPeers(peers: readonly PeerAddress[]): void {
    const wanted = new Map(peers.map((peer) => [peer.id, peer]));
    wanted.delete(this.#options.member);
    for (const peer of [...this.#peers.values()]) {
      if (wanted.get(peer.id)?.address !== peer.address) this.#removePeer(peer);
    }
    for (const { id, address } of wanted.values()) {
      if (this.#peers.has(id)) continue;
      const peer: Peer = { id, address, diallers: {}, connections: {}, info: undefined };
      this.#peers.set(id, peer);
      if (this.#handler !== undefined) this.#dialPeer(peer);
    }
  }

  send(to: MemberId, frame: Uint8Array, channel: Channel = 'control'): boolean {
    const peer = this.#peers.get(to);
    const connection = peer?.connections[channel];
    if (connection === undefined || peer?.info === undefined) return false;
    const limit = this.#options.unsentBytesMax ?? UNSENT_BYTES_MAX;
    if (connection.unsentBytes + frame.length > limit) return false;
    connection.send(frame);
    return true;
  }

  unsentBytes(to: MemberId, channel: Channel = 'control'): number {
    return this.#peers.get(to)?.connections[channel]?.unsentBytes ?? 0;
  }

  reset(link: LinkInfo, reason: string): void {
    const peer = this.#peers.get(link.member);
    if (peer?.info?.link !== link.link) return;
    const { bulk, control } = peer.connections;
    bulk?.end(reason);
    control?.end(reason);
  }

  close(done: () => void): void {
    this.#closed = true;
    clearInterval(this.#aliveTimer);
    for (const peer of [...this.#peers.values()]) this.#removePeer(peer);
    for (const connection of [...this.#shaking]) connection.end('closing');
    for (const client of this.#sockets.clients) client.terminate();
    this.#sockets.close();
    this.#server.close(() => done());
    this.#server.closeAllConnections();
  }

  // ---- connections --------------------------------------------------------------------------

  #log(text: string): void {
    this.#options.log?.(text);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { describe } = this.#options;
    if (request.method === 'GET' && request.url === '/members' && describe !== undefined) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(describe()));
      return;
    }
    response.statusCode = 404;
    response.end();
  }

  #dialPeer(peer: Peer): void {
    if (peer.id < this.#options.member) return;
    for (const channel of ['control', 'bulk'] as const) {
      let said = '';
      const dialler: Dialler = new Dialler({
        address: peer.address,
        frameBytesMax: FRAME_BYTES_MAX,
        opened: (socket) => this.#attach(socket, channel, peer, dialler),
        failed: (reason) => {
          // The same reason, again and again, is said once.
          if (channel === 'control' && reason !== said) {
            this.#log(`member ${peer.id} at ${peer.address}: ${reason}`);
          }
          said = reason;
        },
      });
      peer.diallers[channel] = dialler;
    }
  }

  #accept(socket: WebSocket): void {
    if (this.#handler === undefined || this.#closed) socket.terminate();
    else this.#attach(socket, 'control', undefined, undefined);
  }

  #attach(socket: WebSocket, channel: Channel, peer: Peer | undefined, dialler?: Dialler): void {
    const { cluster, member, incarnation, dataDirectory } = this.#options;
    const own: Handshake = {
      protocol: PEER_PROTOCOL,
      channel,
      ...{ cluster, member, incarnation, dataDirectory },
      target: peer?.id ?? 0,
      link: ++this.#links,
    };
    const events: ConnectionEvents = {
      verify: (theirs) => this.#verify(theirs),
      open: (connection) => {
        this.#shaking.delete(connection);
        dialler?.settled();
        this.#opened(connection);
      },
      frame: (connection, frame) => this.#received(connection, frame),
      closed: (connection, reason) => {
        this.#shaking.delete(connection);
        this.#lost(connection, reason, peer);
        dialler?.lost();
      },
    };
    this.#shaking.add(new Connection(socket, peer !== undefined, own, events));
  }

  #verify(theirs: Handshake): string | undefined {
    const peer = this.#peers.get(theirs.member);
    if (peer === undefined) return `member ${theirs.member} is not known here`;
    const refused = this.#options.verify?.(theirs);
    if (refused !== undefined) return refused;
    const present = peer.connections[theirs.channel]?.theirs;
    if (present === undefined) return undefined;
    const older =
      theirs.incarnation < present.incarnation ||
      (theirs.incarnation === present.incarnation && theirs.link < present.link);
    return older ? 'a newer link is up' : undefined;
  }

  #opened(connection: Connection): void {
    const { member, incarnation, channel } = connection.theirs!;
    const peer = this.#peers.get(member);
    if (peer === undefined) {
      connection.end('peer removed');
      return;
    }
    peer.connections[channel]?.end('replaced by a newer link');
    peer.connections[channel] = connection;
    if (channel === 'bulk') return;
    const info: LinkInfo = { member, incarnation, link: ++this.#links };
    peer.info = info;
    this.#log(`link ${info.link} with member ${member} is up`);
    this.#handler?.linkUp(info);
  }

  #received(connection: Connection, frame: Uint8Array): void {
    const { member, channel } = connection.theirs!;
    const peer = this.#peers.get(member);
    if (peer?.info === undefined || peer.connections[channel] !== connection) return;
    this.#handler?.frame(peer.info, frame, channel);
  }

  #lost(connection: Connection, reason: string, dialled: Peer | undefined): void {
    const theirs = connection.theirs;
    if (theirs === undefined) {
      const who = dialled === undefined ? 'an incoming connection' : `member ${dialled.id}`;
      const { refused, log } = this.#options;
      if (!this.#closed) (refused ?? log)?.(`no link with ${who}: ${reason}`);
      return;
    }
    const peer = this.#peers.get(theirs.member);
    if (peer?.connections[theirs.channel] !== connection) return;
    delete peer.connections[theirs.channel];
    if (theirs.channel === 'bulk' || peer.info === undefined) return;
    const { info } = peer;
    peer.info = undefined;
    this.#log(`link ${info.link} with member ${info.member} is down: ${reason}`);
    this.#handler?.linkDown(info);
  }

  #removePeer(peer: Peer): void {
    for (const channel of ['control', 'bulk'] as const) {
      peer.diallers[channel]?.stop();
      peer.connections[channel]?.end('peer removed');
    }
    this.#peers.delete(peer.id);
  }

  #checkAlive(): void {
    for (const peer of this.#peers.values()) {
      for (const connection of Object.values(peer.connections)) connection.checkAlive();
    }
  }
}
