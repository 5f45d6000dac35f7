import type { ByteString } from '@lockstep/model';

/** An address as bytes, 4 or 16 of them; undefined when the text is none. */
export function parseAddress(text: ByteString): readonly number[] | undefined {
  return text.includes(':') ? parseV6(text) : parseV4(text);
}

function parseV4(text: string): number[] | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  const bytes: number[] = [];
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return undefined;
    bytes.push(Number(part));
  }
  return bytes;
}

function parseV6(text: string): number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0] ?? '');
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 16 ? head : undefined;
  const tail = parseGroups(halves[1] ?? '');
  if (tail === undefined || head.length + tail.length > 14) return undefined;
  return [...head, ...new Array<number>(16 - head.length - tail.length).fill(0), ...tail];
}

function parseGroups(text: string): number[] | undefined {
  if (text === '') return [];
  const bytes: number[] = [];
  const groups = text.split(':');
  for (const [at, group] of groups.entries()) {
    if (group.includes('.') && at === groups.length - 1) {
      const last = parseV4(group);
      if (last === undefined) return undefined;
      bytes.push(...last);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return undefined;
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 255);
    }
  }
  return bytes;
}

/** Address and prefix length of an `ip` ACL id such as `10.0.0.0/8`; undefined when malformed. */
export function parseSubnet(
  text: ByteString,
): { readonly bytes: readonly number[]; readonly bits: number } | undefined {
  const [address = '', suffix, ...more] = text.split('/');
  const bytes = parseAddress(address);
  if (bytes === undefined || more.length > 0) return undefined;
  if (suffix === undefined) return { bytes, bits: bytes.length * 8 };
  if (!/^\d{1,3}$/.test(suffix)) return undefined;
  const bits = Number(suffix);
  return bits <= bytes.length * 8 ? { bytes, bits } : undefined;
}

/** Whether an address lies in a subnet of the same family. */
export function isInSubnet(address: ByteString, subnet: ByteString): boolean {
  const range = parseSubnet(subnet);
  const bytes = parseAddress(address);
  if (range === undefined || bytes === undefined) return false;
  if (bytes.length !== range.bytes.length) return false;
  for (const [at, byte] of range.bytes.entries()) {
    const bits = Math.min(8, Math.max(0, range.bits - at * 8));
    const mask = (0xff << (8 - bits)) & 0xff;
    if ((byte & mask) !== (bytes[at]! & mask)) return false;
  }
  return true;
}

/** An IPv4 address that a dual-stack socket reports as IPv6, in its usual form. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
