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
import { Connection, type ConnectionEvents } from './connection.ts';
import { Dialler } from './dialler.ts';
import { type FeatureLevels, type Handshake, PEER_PROTOCOL } from './handshake.ts';
import { RefusalLog } from './refusal-log.ts';

type Channel = 'control' | 'bulk';

const UNSENT_BYTES_MAX = 64 * 1024 * 1024;
const FRAME_BYTES_MAX = 64 * 1024 * 1024;
const ALIVE_CHECK_MS = 3000;
/** A handshake takes some hundred bytes; whoever sends more before it is no member. */
const HANDSHAKE_BYTES_MAX = 16 * 1024;
/** Connections without a handshake at one time; each may stay for some seconds. */
const STRANGERS_MAX = 64;
const SOCKETS_MAX = 512;
const HTTP_TIMEOUT_MS = 5000;
/** A member whose frames make no sense is not listened to for so long. */
const RESET_REST_MS = 1000;

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
  /** Why another member is refused although cluster and ids fit (removed, another data directory);
   * `isPeer`: it is one of those that `setPeers` named. */
  readonly verify?: (theirs: Handshake, isPeer: boolean) => string | undefined;
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
  readonly #refusals: RefusalLog;
  /** Newest handshake of each member and channel in this life: older ones are replays, or come
   * from a data directory that was set back. Kept beyond the peer: an address may change. */
  readonly #newest = new Map<string, Pick<Handshake, 'incarnation' | 'link'>>();
  readonly #restsUntilMs = new Map<MemberId, number>();
  #handler: NetworkHandler | undefined;
  #aliveTimer: NodeJS.Timeout | undefined;
  #links = 0;
  /** Incoming connections without a handshake. */
  #strangers = 0;
  #address = '';
  #closed = false;

  constructor(options: MeshOptions) {
    this.#options = options;
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
    this.#refusals.add(reason);
    this.#restsUntilMs.set(link.member, performance.now() + RESET_REST_MS);
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
        opened: (socket) => this.#attach(socket, channel, peer, `member ${peer.id}`, dialler),
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

  #accept(socket: WebSocket, tcp: Socket): void {
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
      verify: (theirs) => this.#verify(theirs),
      open: (connection) => {
        if (this.#shaking.delete(connection)) shaken();
        dialler?.settled();
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

  #verify(theirs: Handshake): string | undefined {
    const { member, incarnation, link } = theirs;
    const isPeer = this.#peers.has(member);
    const refused = this.#options.verify?.(theirs, isPeer);
    if (refused !== undefined) return refused;
    if (!isPeer) return `member ${member} is not known here`;
    if (performance.now() < (this.#restsUntilMs.get(member) ?? 0)) {
      return `frames of member ${member} were malformed a moment ago`;
    }
    const newest = this.#newest.get(`${member} ${theirs.channel}`);
    if (newest === undefined || incarnation > newest.incarnation) return undefined;
    if (incarnation < newest.incarnation) {
      const last = newest.incarnation;
      return `incarnation ${incarnation} of member ${member} is over, ${last} was here`;
    }
    return link > newest.link ? undefined : 'a newer link is up';
  }

  #opened(connection: Connection): void {
    const { member, incarnation, channel, link } = connection.theirs!;
    this.#newest.set(`${member} ${channel}`, { incarnation, link });
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

  #lost(connection: Connection, reason: string, who: string): void {
    const theirs = connection.theirs;
    if (theirs === undefined) {
      if (!this.#closed) this.#refusals.add(`no link with ${who}: ${reason}`);
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

/** Without the port: each attempt has another. */
function originOf(socket: Socket): string {
  return socket.remoteAddress ?? 'an incoming connection';
}
