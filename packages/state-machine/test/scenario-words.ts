import { LeaseKind } from '@lockstep/model';
import type { SpaceName, Step } from './toy.ts';

/** Kinds of leases by the words that scenarios use. */
export const KINDS: Readonly<Record<string, LeaseKind>> = {
  member: LeaseKind.Member,
  etcd: LeaseKind.Etcd,
  zookeeper: LeaseKind.ZooKeeper,
  connection: LeaseKind.RedisConnection,
};

/** Reads `put plain a x px 100`, one step of a toy command; see `Step` for what each does. */
export function stepOf(words: readonly string[]): Step {
  const [name = '', first = '', second = '', third = ''] = words;
  const space = first as SpaceName;
  const options = optionsIn(words);
  switch (name) {
    case 'put':
      return { do: 'put', in: space, key: second, value: third, ...options };
    case 'delete':
      return { do: 'delete', in: space, key: second };
    case 'clear':
      return { do: 'clear', in: space };
    case 'compact':
      return { do: 'compact', at: Number(first) };
    case 'grant':
      return { do: 'grant', kind: kindOf(first), id: Number(second), ttl: Number(third) };
    case 'revoke':
    case 'attach':
    case 'renew':
      return { do: name, kind: kindOf(first), id: Number(second) };
    case 'acquire':
      return { do: 'acquire', name: first, owner: second, px: Number(third), ...options };
    case 'release':
    case 'cancel':
      return { do: name, name: first, owner: second };
    case 'extend':
      return { do: 'extend', name: first, owner: second, px: Number(third) };
    case 'pop':
      return { do: 'pop', key: first, wait: Number(second) };
    case 'fence':
      return { do: 'fence', resource: first, token: Number(second) };
    case 'unfence':
      return { do: 'unfence', resource: first };
    case 'say':
      return { do: 'say', text: first };
    case 'spend':
      return { do: 'spend', steps: Number(first) };
    default:
      throw new Error(`unknown step: ${words.join(' ')}`);
  }
}

export function kindOf(word: string): LeaseKind {
  const kind = KINDS[word];
  if (kind === undefined) throw new Error(`no kind of lease is called ${word}`);
  return kind;
}

/** The optional parts of a step: `lease 1`, `px 100`, `wait 0`. */
function optionsIn(words: readonly string[]): { lease?: number; px?: number; wait?: number } {
  const options: { lease?: number; px?: number; wait?: number } = {};
  for (const name of ['lease', 'px', 'wait'] as const) {
    const at = words.indexOf(name);
    if (at > 0) options[name] = Number(words[at + 1]);
  }
  return options;
}
