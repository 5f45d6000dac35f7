import { EntryKind } from '@lockstep/model';
import { type CommandOutcome, lockInfo, lockQueue } from '../src/index.ts';
import { Driver } from './driver.ts';
import { kindOf, stepOf } from './scenario-words.ts';
import { command, PLAIN, SPACES, type SpaceName, type Step, sessionCommand } from './toy.ts';

/**
 * Runs a scenario file: a line that begins with `> ` is a command, the lines below it up to the next
 * blank line are its complete output, lines with `#` are prose. The machine begins empty, at 1000 ms.
 * Steps are those of `scenario-words.ts`; `+` joins steps of one transaction. Commands:
 *
 *   do STEP + STEP                    one command of the leader's own
 *   as MEMBER/INCARNATION from N: STEP + STEP | STEP | empty    a numbered run of a member
 *   session HANDLE/EPOCH: STEP        a command of a session's connection
 *   hello MEMBER/INCARNATION [DIRECTORY]
 *   renew HANDLE …                    keep-alives, in an entry of their own
 *   elected · transferred             first entry of a new leader's term
 *   pass MS · tick MS                 time goes by, without and with an entry
 *   reload · damage SPACE             go on with a machine loaded from the image; lose a bit first
 *   repeat N COMMAND; COMMAND         and show nothing
 *   fill SPACE COUNT LEASE            so many keys that hang on a lease; shows nothing
 *   show revision · show key SPACE KEY · show size SPACE · show lease KIND ID · show lock NAME ·
 *   show fence RESOURCE
 */
export function runScenario(text: string): string {
  const runner = new ScenarioRunner();
  const output: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) {
      if (output.length > 0 && !output.at(-1)!.startsWith('#')) output.push('');
      output.push(line);
    } else if (line.startsWith('> ')) {
      if (output.length > 0) output.push('');
      output.push(line, ...runner.run(line.slice(2)));
    }
  }
  return `${output.join('\n')}\n`;
}

class ScenarioRunner {
  #driver = new Driver();
  #lines: string[] = [];

  run(line: string): string[] {
    this.#lines = [];
    this.#run(line);
    this.#lines.push(...this.#driver.story());
    return this.#lines.length === 0 ? ['(nothing)'] : this.#lines;
  }

  #run(line: string): void {
    const [name = '', ...words] = line.split(' ');
    const act = this.#commands[name];
    if (act === undefined) throw new Error(`unknown command: ${line}`);
    act(words);
  }

  readonly #commands: Record<string, (words: readonly string[]) => void> = {
    do: (words) => this.#outcomes(this.#driver.apply(command(...stepsOf(words)))),
    as: (words) => this.#numbered(words),
    session: ([who = '', ...words]) => {
      const [lease = 0, epoch = 0] = numbersIn(who);
      this.#outcomes(this.#driver.apply(sessionCommand({ lease, epoch }, ...stepsOf(words))));
    },
    hello: ([who = '', directory]) => {
      const [member = 0, incarnation = 0] = numbersIn(who);
      const change = directory === undefined ? {} : { dataDirectory: directory };
      this.#outcomes([this.#driver.hello(member, incarnation, change)]);
    },
    renew: (handles) => {
      const alive = this.#driver.renew(...handles.map(Number));
      for (const [at, handle] of handles.entries()) {
        this.#say(`lease ${handle} ${alive[at] ? 'renewed' : 'is gone'}`);
      }
    },
    elected: () => void this.#driver.entry({ kind: EntryKind.Elected }),
    transferred: () => void this.#driver.entry({ kind: EntryKind.Transferred }),
    pass: ([ms]) => {
      this.#driver.time += Number(ms);
    },
    tick: ([ms]) => this.#driver.tick(Number(ms)),
    reload: () => this.#reload(),
    damage: ([space]) => this.#damage(space as SpaceName),
    repeat: ([count, ...words]) => {
      const commands = words.join(' ').split('; ');
      for (let left = Number(count); left > 0; left--) {
        for (const one of commands) this.#run(one);
      }
      this.#lines = [];
      this.#driver.story();
    },
    fill: ([space, count, lease]) => {
      const keys = Array.from({ length: Number(count) }, (_, at) => `key-${at}`);
      for (const key of keys) {
        const hung = { value: 'x', lease: Number(lease) };
        this.#driver.do({ do: 'put', in: space as SpaceName, key, ...hung });
      }
      this.#driver.story();
    },
    show: (words) => this.#say(this.#shown(words)),
  };

  #say(line: string): void {
    this.#lines.push(line);
  }

  #numbered([who = '', , from = '', ...words]: readonly string[]): void {
    const [origin = 0, incarnation = 0] = numbersIn(who);
    const bodies = words.join(' ').split(' | ');
    const commands = bodies.map((body) =>
      body === 'empty' ? new Uint8Array(0) : command(...stepsOf(body.split(' '))),
    );
    this.#outcomes(this.#driver.run({ origin, incarnation, first: parseInt(from, 10), commands }));
  }

  #outcomes(outcomes: readonly CommandOutcome[]): void {
    for (const outcome of outcomes) {
      this.#say(
        outcome.kind === 'done' ? `gives ${words(outcome.result)}` : `void: ${outcome.reason}`,
      );
    }
  }

  /** The rest of the story is told by the copy, so any difference would show. */
  #reload(): void {
    const copy = this.#driver.reloaded();
    const same = copy.machine.stateHash() === this.#driver.machine.stateHash();
    this.#say(same ? 'same state' : 'ANOTHER STATE');
    this.#driver = copy;
  }

  #damage(space: SpaceName): void {
    const { image } = this.#driver;
    const table = String.fromCharCode(0, SPACES[space].id);
    const key = [...image.keys()].find((name) => name.startsWith(table));
    if (key === undefined) throw new Error(`${space} has no rows`);
    const row = Uint8Array.from(image.get(key)!);
    row[row.length - 1]! ^= 1;
    image.set(key, row);
    try {
      this.#reload();
    } catch (error) {
      this.#say(`does not load: ${(error as Error).message}`);
    }
  }

  #shown([what, first = '', second = '']: readonly string[]): string {
    const { machine } = this.#driver;
    switch (what) {
      case 'revision':
        return `revision ${machine.revision}, compacted ${machine.compactedRevision(SPACES.store)}`;
      case 'size':
        return `${first} holds ${machine.size(SPACES[first as SpaceName])}`;
      case 'fence':
        return `fence ${first} ${machine.fence(first)}`;
      case 'key': {
        const record = machine.get(SPACES[first as SpaceName], second);
        if (record === undefined) return `${first} ${second} none`;
        const value = Buffer.from(record.value).toString();
        return `${first} ${second} ${value}, token ${record.token}, version ${record.version}`;
      }
      case 'lease': {
        const lease = machine.leaseById(kindOf(first), BigInt(second));
        if (lease === undefined) return `${first} ${second} none`;
        const { handle, deadline, keyCount, epoch } = lease;
        return `${first} ${second} handle ${handle}, until ${deadline}, keys ${keyCount}, epoch ${epoch}`;
      }
      case 'lock': {
        const info = lockInfo(machine, PLAIN, first);
        const queue = lockQueue(machine, PLAIN, first).map(({ owner }) => owner);
        const held = info === undefined ? 'free' : `held by ${info.owner}, token ${info.token}`;
        return `${first} ${held}, queue ${queue.join(' ') || 'empty'}`;
      }
      default:
        throw new Error(`cannot show ${what}`);
    }
  }
}

function stepsOf(list: readonly string[]): Step[] {
  return list
    .join(' ')
    .split(' + ')
    .map((one) => stepOf(one.split(' ')));
}

function numbersIn(pair: string): number[] {
  return pair.replace(':', '').split('/').map(Number);
}

function words(result: unknown): string {
  if (!Array.isArray(result)) return String(result);
  return result.map((one) => (one === undefined ? 'nothing' : String(one))).join(', ');
}
