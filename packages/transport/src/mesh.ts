import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
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
import { Admission, type Verify } from './admission.ts';
import { Connection, type ConnectionEvents } from './connection.ts';
import { Dialler } from './dialler.ts';
import { type FeatureLevels, type Handshake, PEER_PROTOCOL } from './handshake.ts';
import { type Channel, newPeer, type Peer } from './peer.ts';
import { RefusalLog } from './refusal-log.ts';

const UNSENT_BYTES_MAX = 64 * 1024 * 1024;
const FRAME_BYTES_MAX = 64 * 1024 * 1024;
const ALIVE_CHECK_MS = 3000;
/** A handshake takes some hundred bytes; whoever sends more before it is no member. */
const HANDSHAKE_BYTES_MAX = 16 * 1024;
/** Connections without a handshake at one time; each may stay for some seconds. */
const STRANGERS_MAX = 64;
const SOCKETS_MAX = 512;
/** Members linked that are not known here; more than join while one is away. */
const GUESTS_MAX = 16;
const HTTP_TIMEOUT_MS = 5000;
/** An election timeout, unless told otherwise. */
const DIAL_PATIENCE_MS = 1000;

export interface MeshOptions {
  /** `host:port` to listen on; port 0 takes a free one. */
  readonly listen: string;
  /** Flag named in the error when the address is in use. */
  readonly listenFlag?: string;
  readonly cluster: string;
  readonly member: MemberId;
  readonly incarnation: Incarnation;
  readonly dataDirectory: string;
  /** Feature levels at which this software can take part; left out: the first. */
  readonly levels?: FeatureLevels;
  /** Says also which members that `setPeers` does not name may link themselves all the same: those
   * that joined while this one was away. Left out: none. */
  readonly verify?: Verify;
  /** How long a member with a smaller id is left to dial before this one does. */
  readonly dialPatienceMs?: number;
  /** Links made and lost, in words. */
  readonly log?: (text: string) => void;
  /** Who was refused, by this member or the other, and why, at a bounded rate; left out: told to
   * `log`. */
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
 * Of two members the one with the smaller id dials, so that a pair has exactly one link. The other
 * dials when that brought no link for a while: the smaller one may not know it yet.
 */
export function openMesh(
  options: MeshOptions,
  done: (error: LockstepError | undefined, mesh: Mesh) => void,
): void {
  const mesh = new WebSocketMesh(options);
  mesh.listen((error) => done(error, mesh));
}

class WebSocketMesh implements Mesh {
  readonly #options: MeshOptions;
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  readonly #peers = new Map<MemberId, Peer>();
  readonly #shaking = new Set<Connection>();
  readonly #refusals: RefusalLog;
  readonly #admission: Admission;
  #handler: NetworkHandler | undefined;
  #aliveTimer: NodeJS.Timeout | undefined;
  #links = 0;
  /** Incoming connections without a handshake. */
  #strangers = 0;
  #address = '';
  #closed = false;

  constructor(options: MeshOptions) {
    this.#options = options;
    this.#admission = new Admission(options.member, options.verify);
    this.#refusals = new RefusalLog(options.refused ?? options.log ?? (() => {}), () =>
      performance.now(),
    );
    const limits = {
      headersTimeout: HTTP_TIMEOUT_MS,
      requestTimeout: HTTP_TIMEOUT_MS,
      connectionsCheckingInterval: 1000,
    };
    this.#server = createServer(limits, (request, response) => this.#answer(request, response));
    this.#server.maxConnections = SOCKETS_MAX;
    this.#server.on('drop', () => this.#refusals.add(`more than ${SOCKETS_MAX} connections`));
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      this.#refusals.add(`no link with ${originOf(socket)}: no request: ${error.code}`);
      if (socket.writable) socket.write('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
      socket.destroySoon();
    });
    this.#sockets = new WebSocketServer({
      server: this.#server,
      path: '/peer',
      perMessageDeflate: false,
      skipUTF8Validation: true,
      maxPayload: FRAME_BYTES_MAX,
    });
    this.#sockets.on('connection', (socket, request) => this.#accept(socket, request.socket));
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
      const address = wanted.get(peer.id)?.address;
      if (peer.address === undefined && address === undefined) this.#reviewGuest(peer);
      else if (peer.address !== undefined && peer.address !== address) this.#removePeer(peer);
    }
    for (const { id, address } of wanted.values()) {
      const former = this.#peers.get(id);
      if (former?.address !== undefined) continue;
      const peer = newPeer(id, address, former);
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
    this.#refusals.add(reason);
    this.#admission.rest(link.member);
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
    const { address } = peer;
    if (address === undefined) return;
    const { member, dialPatienceMs = DIAL_PATIENCE_MS } = this.#options;
    for (const channel of ['control', 'bulk'] as const) {
      let said = '';
      const dialler: Dialler = new Dialler({
        address,
        frameBytesMax: FRAME_BYTES_MAX,
        patienceMs: () =>
          Math.max(peer.id < member ? dialPatienceMs : 0, this.#admission.restMs(peer.id)),
        isNeeded: () => peer.connections[channel] === undefined,
        opened: (socket) => this.#attach(socket, channel, peer, `member ${peer.id}`, dialler),
        failed: (reason) => {
          // The same reason, again and again, is said once.
          if (channel === 'control' && reason !== said) {
            this.#log(`member ${peer.id} at ${address}: ${reason}`);
          }
          said = reason;
        },
      });
      peer.diallers[channel] = dialler;
    }
  }

  #accept(socket: WebSocket, tcp: Socket): void {
    // Also who is turned away may have sent nonsense; without a listener that ends the process.
    socket.on('error', () => {});
    if (this.#handler === undefined || this.#closed) {
      socket.terminate();
      return;
    }
    const from = originOf(tcp);
    if (this.#strangers >= STRANGERS_MAX) {
      this.#refusals.add(`no link with ${from}: ${STRANGERS_MAX} connections wait already`);
      socket.terminate();
      return;
    }
    this.#strangers++;
    const begunBytes = tcp.bytesRead;
    const connection = this.#attach(socket, 'control', undefined, from, undefined, () => {
      this.#strangers--;
      tcp.off('data', look);
    });
    const look = (): void => {
      if (tcp.bytesRead - begunBytes <= HANDSHAKE_BYTES_MAX) return;
      connection.end('more came than a handshake');
    };
    tcp.on('data', look);
  }

  #attach(
    socket: WebSocket,
    channel: Channel,
    peer: Peer | undefined,
    who: string,
    dialler?: Dialler,
    shaken: () => void = () => {},
  ): Connection {
    const { cluster, member, incarnation, dataDirectory } = this.#options;
    const { levels = { oldest: 1, newest: 1 } } = this.#options;
    const own: Handshake = {
      protocol: PEER_PROTOCOL,
      channel,
      ...{ cluster, member, incarnation, dataDirectory, levels },
      target: peer?.id ?? 0,
      link: ++this.#links,
    };
    const events: ConnectionEvents = {
      verify: (theirs) => this.#refusal(theirs, peer !== undefined),
      open: (connection) => {
        if (this.#shaking.delete(connection)) shaken();
        this.#opened(connection);
      },
      frame: (connection, frame) => this.#received(connection, frame),
      closed: (connection, reason) => {
        if (this.#shaking.delete(connection)) shaken();
        this.#lost(connection, reason, who);
        dialler?.lost();
      },
    };
    const connection = new Connection(socket, peer !== undefined, own, events);
    this.#shaking.add(connection);
    return connection;
  }

  #refusal(theirs: Handshake, dialled: boolean): string | undefined {
    const peer = this.#peers.get(theirs.member);
    if (peer === undefined && this.#guests >= GUESTS_MAX) return 'too many unknown members';
    return this.#admission.refusal(theirs, {
      isPeer: peer?.address !== undefined,
      dialled,
      holdsOwn: peer?.diallers[theirs.channel]?.holds === true,
    });
  }

  #opened(connection: Connection): void {
    const { member, incarnation, channel } = connection.theirs!;
    this.#admission.settled(connection.theirs!);
    const peer = this.#peers.get(member) ?? newPeer(member);
    this.#peers.set(member, peer);
    peer.diallers[channel]?.settled();
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

  #lost(connection: Connection, reason: string, who: string): void {
    const theirs = connection.theirs;
    if (theirs === undefined) {
      if (!this.#closed) this.#refusals.add(`no link with ${who}: ${reason}`);
      return;
    }
    const peer = this.#peers.get(theirs.member);
    if (peer?.connections[theirs.channel] !== connection) return;
    delete peer.connections[theirs.channel];
    peer.diallers[theirs.channel]?.missed();
    if (theirs.channel === 'bulk' || peer.info === undefined) return;
    const { info } = peer;
    peer.info = undefined;
    this.#log(`link ${info.link} with member ${info.member} is down: ${reason}`);
    this.#handler?.linkDown(info);
  }

  get #guests(): number {
    let guests = 0;
    for (const { address } of this.#peers.values()) if (address === undefined) guests++;
    return guests;
  }

  /** It may be gone, or this member has learnt since that it is none of the cluster any more. */
  #reviewGuest(peer: Peer): void {
    const theirs = (peer.connections.control ?? peer.connections.bulk)?.theirs;
    if (theirs !== undefined && this.#admission.isWelcomeGuest(theirs)) return;
    this.#removePeer(peer);
    this.#admission.forget(peer.id);
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

/** Without the port: each attempt has another. */
function originOf(socket: Socket): string {
  return socket.remoteAddress ?? 'an incoming connection';
}
