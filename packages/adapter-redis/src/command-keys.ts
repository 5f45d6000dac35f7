import type { ByteString } from '@lockstep/model';
import type { CommandSpec } from './command.ts';
import type { ErrorReply } from './reply.ts';

/** The command that words name. */
export type Resolve = (argv: readonly ByteString[]) => CommandSpec | ErrorReply;

/** Keys among the words of a command; undefined when the words do not tell them. */
export function keysOf(
  spec: CommandSpec,
  argv: readonly ByteString[],
  resolve: Resolve,
): readonly ByteString[] | undefined {
  if (spec.keysOf !== undefined) return spec.keysOf(argv);
  if (spec.wraps !== undefined) {
    const at = spec.wraps(argv);
    const words = argv.slice(at);
    const inner = words.length === 0 ? undefined : resolve(words);
    if (inner === undefined || 'kind' in inner) return undefined;
    const own = at === 3 ? [argv[1]!] : [];
    return [...own, ...(keysOf(inner, words, resolve) ?? [])];
  }
  const [first, last, step] = spec.keys;
  if (first === 0) return [];
  const end = last < 0 ? argv.length + last : last;
  const keys: ByteString[] = [];
  for (let i = first; i <= end && i < argv.length; i += step) keys.push(argv[i]!);
  return keys;
}
