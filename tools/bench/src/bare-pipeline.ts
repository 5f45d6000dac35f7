import { fork } from 'node:child_process';
import { closeSync, fdatasync, mkdtempSync, openSync, rmSync, write } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Packr } from 'msgpackr';
import { WebSocket, WebSocketServer } from 'ws';
import { type Servers, waitForPort } from './processes.ts';

/**
 * The ceiling: three processes, ws and msgpackr between them, one fsynced batch per turn, and
 * nothing else. A "client" sends RESP-like lines; the answer is +OK when two disks have the batch.
 */
const packr = new Packr({ useRecords: false });

/** Writes batches to a file: one write and one sync in flight, what waits goes into the next. */
class BatchLog {
  readonly #file: number;
  #waiting: Buffer[] = [];
  #done: (() => void)[] = [];
  #busy = false;

  constructor(path: string) {
    this.#file = openSync(path, 'w');
  }

  append(bytes: Buffer, done: () => void): void {
    this.#waiting.push(bytes);
    this.#done.push(done);
    if (!this.#busy) this.#flush();
  }

  #flush(): void {
    const bytes = Buffer.concat(this.#waiting);
    const done = this.#done;
    this.#waiting = [];
    this.#done = [];
    this.#busy = true;
    write(this.#file, bytes, () => {
      fdatasync(this.#file, () => {
        this.#busy = false;
        for (const each of done) each();
        if (this.#waiting.length > 0) this.#flush();
      });
    });
  }

  close(): void {
    closeSync(this.#file);
  }
}

function runFollower(port: number, directory: string): void {
  const log = new BatchLog(join(directory, `follower-${port}.log`));
  const server = new WebSocketServer({ host: '127.0.0.1', port, perMessageDeflate: false });
  server.on('connection', (socket) => {
    socket.on('message', (data: Buffer) => {
      const [number] = packr.unpack(data) as [number, Buffer];
      log.append(data, () => socket.send(packr.pack([number])));
    });
  });
}

/** One RESP array ends with its last bulk; the ceiling only needs to find where requests end. */
function countRequests(session: { rest: Buffer }, chunk: Buffer): Buffer[] {
  const bytes = session.rest.length === 0 ? chunk : Buffer.concat([session.rest, chunk]);
  const requests: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = requestEnd(bytes, at);
    if (end < 0) break;
    requests.push(bytes.subarray(at, end));
    at = end;
  }
  session.rest = bytes.subarray(at);
  return requests;
}

function requestEnd(bytes: Buffer, at: number): number {
  let next = bytes.indexOf(10, at) + 1;
  if (next === 0) return -1;
  for (let words = Number(bytes.toString('latin1', at + 1, next - 2)); words > 0; words--) {
    const lineEnd = bytes.indexOf(10, next) + 1;
    if (lineEnd === 0) return -1;
    next = lineEnd + Number(bytes.toString('latin1', next + 1, lineEnd - 2)) + 2;
    if (next > bytes.length) return -1;
  }
  return next;
}

function runLeader(port: number, followers: readonly number[], directory: string): void {
  const log = new BatchLog(join(directory, 'leader.log'));
  const links = followers.map((each) => new WebSocket(`ws://127.0.0.1:${each}`));
  let turn: { socket: Socket; count: number }[] = [];
  let payload: Buffer[] = [];
  let number = 0;
  const acks = new Map<number, { left: number; answers: { socket: Socket; count: number }[] }>();
  const acknowledge = (batch: number): void => {
    const entry = acks.get(batch);
    if (entry === undefined || --entry.left > 0) return;
    acks.delete(batch);
    for (const { socket, count } of entry.answers) socket.write('+OK\r\n'.repeat(count));
  };
  const flush = (): void => {
    const batch = packr.pack([++number, Buffer.concat(payload)]);
    const answers = turn;
    turn = [];
    payload = [];
    acks.set(number, { left: 2, answers });
    const mine = number;
    for (const link of links) link.send(batch);
    log.append(batch, () => acknowledge(mine));
  };
  for (const link of links) {
    link.on('message', (data: Buffer) => acknowledge((packr.unpack(data) as [number])[0]));
  }
  createServer({ noDelay: true }, (socket) => {
    const session = { rest: Buffer.alloc(0) };
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const requests = countRequests(session, chunk);
      if (requests.length === 0) return;
      if (turn.length === 0) setImmediate(flush);
      turn.push({ socket, count: requests.length });
      payload.push(...requests);
    });
  }).listen(port, '127.0.0.1');
}

/** Starts the three processes. Clients talk to `ports[0]`. */
export async function startBarePipeline(base: number): Promise<Servers> {
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-bare-'));
  const self = fileURLToPath(import.meta.url);
  const followers = [base + 1, base + 2];
  const children = followers.map((port) => fork(self, ['follower', String(port), directory]));
  await Promise.all(followers.map((port) => waitForPort(port)));
  children.push(fork(self, ['leader', String(base), directory, ...followers.map(String)]));
  await waitForPort(base);
  return {
    name: 'bare pipeline',
    ports: [base],
    async stop() {
      for (const child of children) child.kill('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const [, script, role, port, directory, ...followers] = process.argv;
if (script === fileURLToPath(import.meta.url) && directory !== undefined) {
  if (role === 'follower') runFollower(Number(port), directory);
  if (role === 'leader') runLeader(Number(port), followers.map(Number), directory);
}
