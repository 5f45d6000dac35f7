import { type ChildProcess, spawn } from 'node:child_process';

/** One etcdctl against one cluster, writing down what it saw with everything random masked. */
export class EtcdSession {
  readonly transcript: string[] = [];
  readonly #etcdctl: string;
  readonly #endpoints: string;
  readonly #masks: [RegExp, string][] = [];
  readonly #names = new Map<string, string>();
  readonly #children = new Set<ChildProcess>();

  constructor(etcdctl: string, endpoints: string) {
    this.#etcdctl = etcdctl;
    this.#endpoints = endpoints;
    for (const endpoint of endpoints.split(',')) this.#mask(endpoint, '<endpoint>');
  }

  /** From here on `text` shows as `shown` in the transcript. */
  #mask(text: string, shown: string): void {
    this.#masks.push([new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'g'), shown]);
  }

  #masked(text: string): string {
    let masked = text
      .replace(/("cluster_id"|"member_id"|"raft_term"|"ID"|"leader"):\d+/g, '$1:<n>')
      .replace(/("(?:Cluster|Member)ID"|"RaftTerm") : \d+/g, '$1 : <n>')
      .replace(/took( =)? [0-9.]+[µm]?s/g, 'took <time>')
      .replace(/remaining\(\d+s\)/g, 'remaining(<s>)')
      .replace(/^(job|boss)\/[0-9a-f]+/gm, '$1/<lease>');
    for (const [pattern, shown] of this.#masks) masked = masked.replace(pattern, shown);
    // Commands that ask each endpoint say the same once per member.
    return masked.replace(/^(.*<endpoint>.*\n)(\1)+/gm, '$1');
  }

  #spawn(args: readonly string[], input: string | undefined): ChildProcess {
    const filled = args.map((arg) => this.#names.get(arg) ?? arg);
    const env = { ...process.env, ETCDCTL_API: '3' };
    const child = spawn(this.#etcdctl, [`--endpoints=${this.#endpoints}`, ...filled], { env });
    this.#children.add(child);
    child.once('close', () => this.#children.delete(child));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input ?? '');
    return child;
  }

  /** Runs a command to its end; its output and exit code go into the transcript. */
  async run(args: readonly string[], input?: string): Promise<string> {
    const child = this.#spawn(args, input);
    const { stdout, stderr, code } = await finished(child);
    this.#note(args, stdout, stderr, code);
    return stdout;
  }

  /** Runs a command that the transcript leaves out. */
  async query(args: readonly string[]): Promise<string> {
    return (await finished(this.#spawn(args, undefined))).stdout;
  }

  /** As `run`, and what the pattern's group matches is called `<name>` from then on. */
  async capture(name: string, pattern: RegExp, args: readonly string[]): Promise<void> {
    const child = this.#spawn(args, undefined);
    const { stdout, stderr, code } = await finished(child);
    const found = pattern.exec(stdout)?.[1];
    if (found !== undefined) {
      this.#names.set(`<${name}>`, found);
      this.#mask(found, `<${name}>`);
      this.#mask(found.replace(/^0+/, ''), `<${name}>`);
      this.#mask(BigInt(`0x${found}`).toString(), `<${name}>`);
    }
    this.#note(args, stdout, stderr, code);
  }

  /**
   * Starts a command that does not end by itself and waits for `lines` lines of output. The
   * returned function interrupts it and writes down what it had printed.
   */
  async start(args: readonly string[], lines: number): Promise<() => Promise<void>> {
    const child = this.#spawn(args, undefined);
    const end = finished(child);
    if (lines > 0) await printed(child, lines);
    return async () => {
      child.kill('SIGINT');
      const { stdout, stderr, code } = await end;
      this.#note(args, stdout, stderr, code);
    };
  }

  /** Starts a command; the returned function waits for its end and writes it down then. */
  background(args: readonly string[]): () => Promise<void> {
    const end = finished(this.#spawn(args, undefined));
    return async () => {
      const { stdout, stderr, code } = await end;
      this.#note(args, stdout, stderr, code);
    };
  }

  /** Starts a command and writes it down once it has printed `lines` lines, then ends it. */
  async watch(args: readonly string[], lines: number): Promise<void> {
    const child = this.#spawn(args, undefined);
    const end = finished(child);
    await printed(child, lines);
    child.kill('SIGKILL');
    this.#note(args, (await end).stdout, '', null);
  }

  #note(args: readonly string[], stdout: string, stderr: string, code: number | null): void {
    // Lines of the client's own log carry times and addresses; the errors are what counts.
    const errors = stderr.split('\n').filter((line) => /^Error|healthy/.test(line));
    const text = [stdout.trimEnd(), ...errors].filter((part) => part !== '').join('\n');
    this.transcript.push(this.#masked(`$ ${args.join(' ')}\n${text}\n[${code}]`));
  }

  /** Ends commands that are still running. */
  close(): void {
    for (const child of this.#children) child.kill('SIGKILL');
  }
}

function finished(
  child: ChildProcess,
): Promise<{ stdout: string; stderr: string; code: number | null }> {
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout!.on('data', (bytes) => {
      stdout += bytes;
    });
    child.stderr!.on('data', (bytes) => {
      stderr += bytes;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ stdout, stderr, code }));
  });
}

function printed(child: ChildProcess, lines: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let seen = 0;
    child.stdout!.on('data', (bytes: Buffer) => {
      seen += bytes.toString().split('\n').length - 1;
      if (seen >= lines) resolve();
    });
    child.once('close', () => reject(new Error(`ended after ${seen} of ${lines} lines`)));
  });
}
