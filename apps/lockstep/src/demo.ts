import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import colors from 'picocolors';
import { EXIT_NOT_A_MEMBER } from './exit-code.ts';

/** First member on the standard ports, the others 20000 and 30000 above (etcd's demo habit). */
const PORTS = [
  { peer: 2380, etcd: 2379, zookeeper: 2181, redis: 6379, admin: 7070 },
  { peer: 22380, etcd: 22379, zookeeper: 22181, redis: 26379, admin: 27070 },
  { peer: 32380, etcd: 32379, zookeeper: 32181, redis: 36379, admin: 37070 },
  { peer: 42380, etcd: 42379, zookeeper: 42181, redis: 46379, admin: 47070 },
  { peer: 52380, etcd: 52379, zookeeper: 52181, redis: 56379, admin: 57070 },
] as const;
export const DEMO_MEMBERS_MAX = PORTS.length;

const RESTART_MS = 3000;

interface DemoMember {
  readonly name: string;
  readonly args: readonly string[];
  process: ChildProcess | undefined;
  ready: boolean;
}

/** Starts the members as processes of their own, prints lines to paste, restarts what dies. */
export async function runDemo(count: number, directory: string | undefined): Promise<void> {
  const dir = directory ?? mkdtempSync(join(tmpdir(), 'lockstep-demo-'));
  const cluster = PORTS.slice(0, count)
    .map((ports, i) => `n${i + 1}=127.0.0.1:${ports.peer}`)
    .join(',');
  const members = PORTS.slice(0, count).map((ports, i): DemoMember => {
    const name = `n${i + 1}`;
    const listeners = Object.entries(ports).flatMap(([door, port]) => [
      `--listen-${door}`,
      `127.0.0.1:${port}`,
    ]);
    const where = ['--name', name, '--data-dir', join(dir, name), '--initial-cluster', cluster];
    return { name, args: ['serve', ...where, ...listeners], process: undefined, ready: false };
  });
  let stopping = false;
  let announced = false;
  const startedAt = Date.now();
  console.log(`starting ${count} ${count === 1 ? 'member' : 'members'}; data in ${dir}`);

  const start = (member: DemoMember): void => {
    const main = fileURLToPath(new URL('./main.js', import.meta.url));
    const child = spawn(process.execPath, [main, ...member.args], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    member.process = child;
    prefixLines(child, member.name, () => {
      member.ready = true;
      if (announced || !members.every((each) => each.ready)) return;
      announced = true;
      announce(members, Date.now() - startedAt);
    });
    child.on('exit', (code, signal) => {
      member.ready = false;
      member.process = undefined;
      if (stopping) return;
      if (code === 2 || !announced) {
        console.error(`${member.name} could not start (exit code ${code ?? signal})`);
        if (!stopping) console.error('the lines above say why; a second demo needs the same ports');
        stop(1);
        return;
      }
      if (code === EXIT_NOT_A_MEMBER) {
        console.log(colors.yellow(`${member.name} is no member any more and stays down`));
        return;
      }
      console.log(
        colors.yellow(`${member.name} is gone (${signal ?? code}); the others go on. `) +
          `It starts again in ${RESTART_MS / 1000} s.`,
      );
      setTimeout(() => stopping || start(member), RESTART_MS);
    });
  };
  const stop = (code: number): void => {
    stopping = true;
    for (const member of members) member.process?.kill('SIGTERM');
    const alive = members.filter((member) => member.process !== undefined);
    const gone = alive.map(
      (member) => new Promise((resolve) => member.process?.once('exit', resolve)),
    );
    void Promise.all(gone).then(() => {
      if (directory === undefined) rmSync(dir, { recursive: true, force: true });
      else console.log(`stopped; the data stays in ${dir}`);
      process.exit(code);
    });
  };
  process.on('SIGINT', () => stop(0));
  process.on('SIGTERM', () => stop(0));
  process.on('SIGHUP', () => stop(0));
  for (const member of members) start(member);
}

/** Passes a member's lines on with its name before them; calls back at its ready line. */
function prefixLines(child: ChildProcess, name: string, ready: () => void): void {
  for (const stream of [child.stdout, child.stderr]) {
    let rest = '';
    stream?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        console.log(`${colors.dim(`${name} |`)} ${line}`);
        if (line.includes('is ready')) ready();
      }
    });
  }
}

function announce(members: readonly DemoMember[], ms: number): void {
  const count = members.length;
  const ports = PORTS.slice(0, count);
  const seconds = (ms / 1000).toFixed(1);
  const pids = members.map(({ name, process: child }) => `${name} is ${child?.pid}`).join(', ');
  const endpoints = ports.map(({ etcd }) => `127.0.0.1:${etcd}`).join(',');
  const servers = ports.map(({ zookeeper }) => `127.0.0.1:${zookeeper}`).join(',');
  const lines = [
    '',
    colors.bold(
      `${membersAre(count)} up after ${seconds} s. Paste in a second terminal, same directory:`,
    ),
    '',
    colors.dim('  # etcd: take a lock, look at its key and token (create_revision)'),
    `  export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=${endpoints}`,
    '  etcdctl put greeting hello && etcdctl get greeting -w fields',
    "  etcdctl lock deploy -- sh -c 'echo holding deploy; sleep 10'",
    '',
    colors.dim('  # ZooKeeper: any client, unchanged; token: the czxid that stat shows'),
    `  zkCli.sh -server ${servers} create -e -s /lock- me`,
    '',
    colors.dim('  # Redis: the lock you know, with a token'),
    `  redis-cli -p ${ports[0]?.redis} SET order:7 me NX PX 30000 FENCE`,
    `  redis-cli -p ${ports.at(-1)?.redis} LOCK INFO order:7`,
    '',
    colors.dim('  # Lockstep itself: all locks of all doors; run a command under a lock'),
    '  npx lockstep status',
    '  npx lockstep locks',
    "  npx lockstep lock nightly -- sh -c 'echo my token is $LOCKSTEP_TOKEN'",
    '',
    `Kill the leader (status names it) with kill -9 PID: ${pids}.`,
    'It comes back by itself, nothing is lost. Ctrl-C stops everything.',
    '',
  ];
  console.log(lines.join('\n'));
}

const membersAre = (count: number) => (count === 1 ? '1 member is' : `${count} members are`);
