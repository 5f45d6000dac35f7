import { readFileSync } from 'node:fs';
import { LockstepError } from '@lockstep/model';
import { parse } from 'yaml';
import { checkValue, parseDuration } from './option-value.ts';
import { OPTIONS, type Option, variableOf } from './options.ts';

export type OptionName = (typeof OPTIONS)[number]['name'];
/** Every option by name, as checked text. */
export type Settings = Readonly<Record<OptionName, string>>;

/** Flag over variable over file over default. Throws INVALID_OPTION with the place it came from. */
export function resolveSettings(
  flags: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
  file: Readonly<Record<string, string>>,
): Settings {
  const known = new Set<string>(OPTIONS.map((option) => option.name));
  for (const key of Object.keys(file)) {
    if (!known.has(key)) {
      throw new LockstepError('INVALID_OPTION', 'configuration file', `'${key}'`, 'no such option');
    }
  }
  const settings: Record<string, string> = {};
  for (const option of OPTIONS as readonly Option[]) {
    const variable = variableOf(option);
    const [text, place] = firstGiven(
      [flags[option.name], `--${option.name}`],
      [environment[variable], variable],
      [file[option.name], `configuration file: ${option.name}`],
      [option.default, option.name],
    );
    checkValue(place, option.type, text);
    settings[option.name] = text;
  }
  checkTiming(settings as Settings);
  return settings as Settings;
}

const HEARTBEATS_PER_ELECTION_MIN = 5;

/** Fewer heartbeats than that, and one late packet is an election. */
function checkTiming(settings: Settings): void {
  const election = settings['election-timeout'];
  const heartbeat = settings['heartbeat-interval'];
  const leastMs = (parseDuration(heartbeat) ?? 0) * HEARTBEATS_PER_ELECTION_MIN;
  if ((parseDuration(election) ?? 0) >= leastMs) return;
  const why = `accepts at least ${leastMs}ms with --heartbeat-interval ${heartbeat}`;
  throw new LockstepError('INVALID_OPTION', '--election-timeout', `'${election}'`, why);
}

function firstGiven(...candidates: readonly [string | undefined, string][]): [string, string] {
  for (const [text, place] of candidates) if (text !== undefined) return [text, place];
  return ['', ''];
}

/** Reads the YAML file: one flat mapping of option names to scalars. */
export function readConfigFile(path: string): Record<string, string> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new LockstepError('INVALID_OPTION', '--config', `'${path}'`, (error as Error).message);
  }
  const document = parseYaml(path, text) ?? {};
  if (typeof document !== 'object' || Array.isArray(document)) {
    throw new LockstepError('INVALID_OPTION', '--config', `'${path}'`, 'accepts a YAML mapping');
  }
  const values: Record<string, string> = {};
  for (const [key, value] of Object.entries(document as object)) {
    // A key without a value is left at its default, not set to the word 'null'.
    if (value === null) continue;
    if (typeof value === 'object') {
      const shown = `'${JSON.stringify(value)}'`;
      throw new LockstepError(
        'INVALID_OPTION',
        `${path}: ${key}`,
        shown,
        'accepts one line of text',
      );
    }
    values[key] = String(value);
  }
  return values;
}

function parseYaml(path: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    const [why = ''] = (error as Error).message.split('\n');
    throw new LockstepError('INVALID_OPTION', '--config', `'${path}'`, why.replace(/:$/, ''));
  }
}
