import { parseArgs } from 'node:util';
import { FAULT_KINDS, type FaultKind } from './faults/fault.ts';
import { PROFILES, type Profile } from './profiles.ts';

export const USAGE = `npm run simulate -- [options]
  --seed N          one seed
  --seeds A-B       a range of seeds
  --count N         N seeds from --from on (default 100)
  --minutes M       as many seeds as fit into M minutes
  --from N          first seed of --count or --minutes; 'now' takes it from the clock (default 1)
  --only A,B        only these faults, such as 'bit rot,kill'; 'none' for no faults
  --replay FILE     the run that a replay file spells out
  --shrink          makes a failing run smaller and writes its replay file
  --out FOLDER      where replay files go: of failing seeds, or of the one seed asked for
  --verbose         a trace of what happens (one seed only)
  --digest          one line for each seed with the digest of its trace, to compare two versions
  --marks           how often each coverage mark was reached, and which were not
  --profile NAME    the simulator's own speed: ${Object.keys(PROFILES).join(' or ')}
`;

export interface Plan {
  readonly first: number;
  readonly last: number;
  readonly minutes: number;
  readonly verbose: boolean;
  readonly marks: boolean;
  readonly digest: boolean;
  readonly shrink: boolean;
  readonly out: string | undefined;
  readonly replay: string | undefined;
  readonly profile: Profile | undefined;
  readonly kinds: readonly FaultKind[] | undefined;
}

/** Undefined: help was asked for. Throws an Error with what is wrong. */
export function planOf(argv: readonly string[], nowSeconds: number): Plan | undefined {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seed: text,
      seeds: text,
      count: text,
      from: { type: 'string', default: '1' },
      minutes: text,
      only: text,
      replay: text,
      out: text,
      profile: text,
      shrink: flag,
      verbose: flag,
      digest: flag,
      marks: flag,
      help: flag,
    },
  });
  if (values.help) return undefined;
  const { verbose, marks, digest, shrink, replay, out } = values;
  const profile = profileOf(values.profile);
  const common = { verbose, marks, digest, shrink, replay, out, profile };
  const kinds = values.only === undefined ? undefined : kindsOf(values.only);
  const minutes = minutesOf(values.minutes);
  const from = values.from === 'now' ? nowSeconds : whole('--from', values.from);
  const seeds = rangeOf(values.seed ?? values.seeds);
  if (seeds !== undefined) return { ...common, ...seeds, minutes, kinds };
  const endless = values.count === undefined && values.minutes !== undefined;
  const isOne = profile !== undefined || replay !== undefined;
  const count = isOne ? 1 : whole('--count', values.count ?? '100');
  const last = endless ? Number.MAX_SAFE_INTEGER : from + count - 1;
  return { ...common, first: from, last, minutes, kinds };
}

function minutesOf(text: string | undefined): number {
  const minutes = Number(text ?? Number.POSITIVE_INFINITY);
  if (!(minutes > 0)) throw new Error(`--minutes: ${text} is no number above 0`);
  return minutes;
}

function rangeOf(text: string | undefined): { first: number; last: number } | undefined {
  if (text === undefined) return undefined;
  const [first, last] = text.split('-');
  return { first: whole('seed', first ?? ''), last: whole('seed', last ?? first ?? '') };
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name}: ${text} is no number`);
  return value;
}

function profileOf(name: string | undefined): Profile | undefined {
  if (name === undefined || name in PROFILES) return name as Profile | undefined;
  throw new Error(`--profile: ${name} is none of ${Object.keys(PROFILES).join(', ')}`);
}

function kindsOf(text: string): FaultKind[] {
  if (text === 'none') return [];
  return text.split(',').map((name) => {
    const kind = FAULT_KINDS.find((known) => known === name);
    if (kind === undefined) throw new Error(`--only: ${name} is none of ${FAULT_KINDS.join(', ')}`);
    return kind;
  });
}
