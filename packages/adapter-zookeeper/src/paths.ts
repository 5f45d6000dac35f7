import { type ByteString, utf8Text } from '@lockstep/model';

/** Paths are byte strings: UTF-8 as it came from the client, one char per byte. */

/** Parent of a path by its text alone: everything before the last slash; of `/` it is `/`. */
export function parentPath(path: ByteString): ByteString {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? '/' : path.slice(0, slash);
}

/** Last component of a path. */
export function baseName(path: ByteString): ByteString {
  return path.slice(path.lastIndexOf('/') + 1);
}

export function childPath(parent: ByteString, name: ByteString): ByteString {
  return parent === '/' ? `/${name}` : `${parent}/${name}`;
}

/**
 * Suffix of a sequential node: Java's `%010d` of an int32, a sign included in the ten places.
 */
export function sequenceSuffix(counter: number): string {
  if (counter >= 0) return String(counter).padStart(10, '0');
  return `-${String(-counter).padStart(9, '0')}`;
}

const SLASH = 47;
const DOT = 46;

/**
 * Whether a path may name a node (PathUtils.validatePath): absolute, no empty component, no `.`
 * or `..`, none of the characters that ZooKeeper forbids, not ending in a slash.
 */
export function isValidPath(path: ByteString): boolean {
  if (path.charCodeAt(0) !== SLASH) return false;
  if (path.length === 1) return true;
  if (path.charCodeAt(path.length - 1) === SLASH) return false;
  let ascii = true;
  let start = 1;
  for (let at = 1; at <= path.length; at++) {
    const char = at === path.length ? SLASH : path.charCodeAt(at);
    if (char === SLASH) {
      if (isForbiddenComponent(path, start, at)) return false;
      start = at + 1;
    } else if (char < 0x20 || char === 0x7f) return false;
    else if (char > 0x7f) ascii = false;
  }
  return ascii || hasOnlyAllowedCharacters(path);
}

function isForbiddenComponent(path: ByteString, start: number, end: number): boolean {
  const length = end - start;
  if (length === 0) return true;
  if (length > 2 || path.charCodeAt(start) !== DOT) return false;
  return length === 1 || path.charCodeAt(start + 1) === DOT;
}

/** Broken UTF-8 decodes to U+FFFD, which is in a forbidden range too. */
function hasOnlyAllowedCharacters(path: ByteString): boolean {
  const text = utf8Text(Buffer.from(path, 'latin1'));
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x7f && unit <= 0x9f) return false;
    if (unit >= 0xd800 && unit <= 0xf8ff) return false;
    if (unit >= 0xfff0) return false;
  }
  return true;
}
