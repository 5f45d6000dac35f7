import { splitInline } from '../src/inline.ts';
import type { OpenDoor } from './open-door.ts';
import { RawClient } from './raw-client.ts';

/**
 * Runs a scenario: `a> SET k v` sends on connection a and compares the reply with the lines
 * below it; `a~> …` asks again until they match, which is how one waits for what another
 * connection sent; `a>> …` only sends; `a<` compares the next reply; `+500ms` moves the clock;
 * `a!` closes the connection. `<name>` in a reply takes whatever stands there the first time and
 * must be the same afterwards, also in commands. Lines with `#` are for the reader.
 */
export async function runScenario(text: string, door: OpenDoor): Promise<string> {
  const run = new ScenarioRun(door);
  const output: string[] = [];
  for (const step of splitSteps(text)) output.push(await run.step(step));
  run.close();
  return output.join('\n');
}

const RETRIES_MAX = 2000;

interface Step {
  readonly line: string;
  readonly expected: readonly string[];
}

function splitSteps(text: string): Step[] {
  const steps: { line: string; expected: string[] }[] = [];
  for (const line of text.split('\n')) {
    const inReply = line === '' && steps.at(-1)?.expected.at(-1) === '$0';
    if ((isStep(line) && !inReply) || steps.length === 0) steps.push({ line, expected: [] });
    else steps.at(-1)!.expected.push(line);
  }
  return steps;
}

const isStep = (line: string) => /^(\w+(~>|>>|>|<|!)|# |$)/.test(line) || isClock(line);
const isClock = (line: string) => /^\+\d+ms$/.test(line);

class ScenarioRun {
  readonly #door: OpenDoor;
  readonly #clients = new Map<string, RawClient>();
  readonly #bound = new Map<string, string>();

  constructor(door: OpenDoor) {
    this.#door = door;
  }

  async step({ line, expected }: Step): Promise<string> {
    if (isClock(line)) {
      this.#door.clock.advance(Number(line.slice(1, -2)));
      this.#door.replica.tick();
      return line;
    }
    const match = /^(\w+)(~>|>>|>|<|!)(.*)$/.exec(line);
    if (match === null) return line;
    const [, name, action, rest] = match as unknown as [string, string, string, string];
    const client = await this.#client(name);
    if (action === '!') {
      client.close();
      await client.whenClosed();
      this.#clients.delete(name);
      return line;
    }
    for (let left = action === '~>' ? RETRIES_MAX : 0; ; left--) {
      if (action !== '<') client.send(...this.#words(rest));
      if (action === '>>') return line;
      const reply = await client.next();
      const lines = reply.replace(/\r\n$/, '').split('\r\n');
      const shown = lines.map((actual, i) => this.#bind(actual, expected[i] ?? ''));
      if (left === 0 || shown.join('\n') === expected.join('\n')) {
        return [line, ...shown].join('\n');
      }
    }
  }

  #words(text: string): string[] {
    const filled = text.replace(/<(\w+)>/g, (whole, name) => this.#bound.get(name) ?? whole);
    return splitInline(filled.trim()) ?? [];
  }

  /** The expected line if `actual` fits its placeholders, else `actual`. */
  #bind(actual: string, expected: string): string {
    const pattern = expected.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').split(/<(\w+)>/);
    const names = pattern.filter((_, i) => i % 2 === 1);
    const source = pattern.map((part, i) => (i % 2 === 1 ? '(.*)' : part)).join('');
    const match = new RegExp(`^${source}$`).exec(actual);
    if (match === null) return actual;
    for (const [i, name] of names.entries()) {
      const value = match[i + 1]!;
      if ((this.#bound.get(name) ?? value) !== value) return actual;
      this.#bound.set(name, value);
    }
    return expected;
  }

  async #client(name: string): Promise<RawClient> {
    const present = this.#clients.get(name);
    if (present !== undefined) return present;
    const opened = await RawClient.open(this.#door.port);
    this.#clients.set(name, opened);
    return opened;
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }
}
