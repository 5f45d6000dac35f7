import { LockstepError } from '@lockstep/model';

/** What kind of text an option takes; each has one parser and a line on what it accepts. */
export type Value =
  | { readonly kind: 'text' }
  | { readonly kind: 'name' }
  | { readonly kind: 'path' }
  | { readonly kind: 'cluster' }
  | { readonly kind: 'address'; readonly closable?: boolean; readonly optional?: boolean }
  | { readonly kind: 'duration'; readonly min: number; readonly max: number }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'choice'; readonly choices: readonly string[] };

export interface Address {
  readonly host: string;
  readonly port: number;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The accepted range in words, for errors and help. */
export function accepted(type: Value): string {
  switch (type.kind) {
    case 'text':
      return 'accepts any text';
    case 'name':
      return 'accepts 1 to 64 letters, digits, dots, dashes and underscores';
    case 'path':
      return 'accepts a directory';
    case 'cluster':
      return 'accepts name=host:port pairs separated by commas';
    case 'address':
      return `accepts host:port with port 0 to 65535${type.closable ? ", or 'none'" : ''}`;
    case 'duration':
      return `accepts ${formatDuration(type.min)} to ${formatDuration(type.max)}, as 100ms or 1s`;
    case 'integer':
      return `accepts ${type.min} to ${type.max}`;
    case 'choice':
      return `accepts ${type.choices.join(' or ')}`;
  }
}

/** Throws INVALID_OPTION that names flag, value and what is accepted. */
export function checkValue(flag: string, type: Value, text: string): void {
  const ok = isAccepted(type, text);
  if (!ok) throw new LockstepError('INVALID_OPTION', flag, `'${text}'`, accepted(type));
}

function isAccepted(type: Value, text: string): boolean {
  switch (type.kind) {
    case 'text':
      return true;
    case 'name':
      return /^[A-Za-z0-9._-]{1,64}$/.test(text);
    case 'path':
      return text !== '';
    case 'cluster':
      return text === '' || parseCluster(text) !== undefined;
    case 'address':
      if (text === '') return type.optional === true;
      return (type.closable === true && text === 'none') || parseAddress(text) !== undefined;
    case 'duration': {
      const ms = parseDuration(text);
      return ms !== undefined && ms >= type.min && ms <= type.max;
    }
    case 'integer':
      return /^\d+$/.test(text) && Number(text) >= type.min && Number(text) <= type.max;
    case 'choice':
      return type.choices.includes(text);
  }
}

/** `host:port`, `[v6]:port`, with `http://` or `https://` before it accepted. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:https?:\/\/)?(\[[0-9a-fA-F:.]+\]|[^:/\s]+):(\d{1,5})\/?$/.exec(text);
  const port = Number(match?.[2]);
  if (match?.[1] === undefined || port > 65535) return undefined;
  return { host: match[1].replace(/^\[|\]$/g, ''), port };
}

export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `n1=127.0.0.1:2380,n2=…`; undefined when malformed or a name comes twice. */
export function parseCluster(text: string): ReadonlyMap<string, Address> | undefined {
  const members = new Map<string, Address>();
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at).trim();
    const address = parseAddress(pair.slice(at + 1).trim());
    if (at <= 0 || address === undefined || members.has(name)) return undefined;
    members.set(name, address);
  }
  return members;
}

/** Milliseconds; a bare number is milliseconds, as in etcd. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) * (UNITS[match[2] ?? 'ms'] ?? Number.NaN);
}

function formatDuration(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}
