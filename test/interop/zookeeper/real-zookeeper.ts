import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SocketClient } from '../../../packages/adapter-zookeeper/test/socket-client.ts';
import { freePort } from '../../support/ports.ts';

/** Where Debian's `zookeeper` package puts the server. */
const JAR = '/usr/share/java/zookeeper.jar';
export const ZKCLI = '/usr/share/zookeeper/bin/zkCli.sh';
/** The Python that has `python3-kazoo`. */
export const PYTHON = '/usr/bin/python3';

export const hasZooKeeper = existsSync(JAR) && existsSync('/usr/bin/java');
export const hasZkCli = existsSync(ZKCLI);
export const hasKazoo = existsSync('/usr/lib/python3/dist-packages/kazoo');

/** A standalone Apache ZooKeeper on loopback, its data in a temporary directory. */
export class RealZooKeeper {
  readonly address: string;
  readonly #directory: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;

  private constructor(address: string, directory: string, child: ChildProcess) {
    this.address = address;
    this.#directory = directory;
    this.#child = child;
    this.#exited = new Promise((resolve) => child.once('exit', () => resolve()));
  }

  static async start(): Promise<RealZooKeeper> {
    const port = await freePort();
    const directory = mkdtempSync(join(tmpdir(), 'zookeeper-'));
    mkdirSync(join(directory, 'data'));
    const configuration = join(directory, 'zoo.cfg');
    const lines = [
      'tickTime=500',
      `dataDir=${join(directory, 'data')}`,
      `clientPort=${port}`,
      'clientPortAddress=127.0.0.1',
      'admin.enableServer=false',
      '4lw.commands.whitelist=*',
      'extendedTypesEnabled=true',
    ];
    writeFileSync(configuration, `${lines.join('\n')}\n`);
    const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
    const args = ['-Xmx256m', `-Dzookeeper.log.dir=${directory}`, '-cp', JAR, main, configuration];
    const child = spawn('/usr/bin/java', args, { stdio: 'ignore' });
    const server = new RealZooKeeper(`127.0.0.1:${port}`, directory, child);
    await server.#untilReady();
    return server;
  }

  /** The port opens some seconds after the process starts; nothing announces it. */
  async #untilReady(): Promise<void> {
    for (let attempt = 0; attempt < 150; attempt++) {
      const client = await SocketClient.dial(this.address).catch(() => undefined);
      if (client !== undefined) {
        client.socket.write('srvr');
        // A server that is not quite there may take the connection and never answer.
        const slow = new Promise((resolve) => setTimeout(resolve, 1000));
        await Promise.race([client.closed, slow]);
        client.socket.destroy();
        if (client.received.toString().includes('Mode: standalone')) return;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error('ZooKeeper did not start');
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
