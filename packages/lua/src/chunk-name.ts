import type { ByteString } from './value.ts';

// LUA_IDSIZE: C Lua shortens names so that messages fit a fixed buffer.
const NAME_MAX = 60;

/** How messages show a chunk: `=name` and `@name` as they are, source text as `[string "…"]`. */
export function displayName(chunkName: ByteString): ByteString {
  if (chunkName.startsWith('=')) return chunkName.slice(1, NAME_MAX);
  if (chunkName.startsWith('@')) {
    const name = chunkName.slice(1);
    const room = NAME_MAX - 8;
    return name.length > room ? `...${name.slice(name.length - room)}` : name;
  }
  const lineEnd = chunkName.search(/[\r\n]/);
  const room = NAME_MAX - 17;
  const length = Math.min(lineEnd < 0 ? chunkName.length : lineEnd, room);
  const cut = length < chunkName.length ? '...' : '';
  return `[string "${chunkName.slice(0, length)}${cut}"]`;
}
