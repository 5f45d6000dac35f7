import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Below every system's range for outgoing connections, so that none of those takes a port between
 * the moment it was found free and the moment the server under test listens on it.
 */
const FIRST = 20_000;
const LAST = 31_999;

/** One file per port, naming the process that has it: tests run in several processes at once. */
const CLAIMS = join(tmpdir(), 'lockstep-ports');

/** Claimed by this process; a port is never given twice, so that late sockets meet nobody new. */
const claimed = new Set<number>();

process.once('exit', () => {
  for (const port of claimed) rmSync(claim(port), { force: true });
});

/** Ports of 127.0.0.1 on which nothing listens, and which no other test process is given. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  const span = LAST - FIRST + 1;
  const start = (process.pid * 61) % span;
  for (let i = 0; i < span && ports.length < count; i++) {
    const port = FIRST + ((start + i) % span);
    if (take(port) && (await isFree(port))) ports.push(port);
  }
  if (ports.length < count) throw new Error(`no ${count} ports free in ${FIRST} to ${LAST}`);
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

function claim(port: number): string {
  return join(CLAIMS, String(port));
}

function take(port: number): boolean {
  if (claimed.has(port)) return false;
  mkdirSync(CLAIMS, { recursive: true });
  for (;;) {
    try {
      writeFileSync(claim(port), String(process.pid), { flag: 'wx' });
      claimed.add(port);
      return true;
    } catch {
      if (holderLives(port)) return false;
      rmSync(claim(port), { force: true });
    }
  }
}

function holderLives(port: number): boolean {
  try {
    // A claim still empty is being written.
    const pid = readFileSync(claim(port), 'utf8');
    if (pid !== '') process.kill(Number(pid), 0);
    return true;
  } catch {
    return false;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
