import { createHash } from 'node:crypto';
import { type ByteString, toByteString } from '@lockstep/model';
import type { Identity } from './acl.ts';

/** Identity of a digest ACL: user, colon, base64 of the SHA-1 of `user:password`. */
export function digestIdentity(credentials: Uint8Array): ByteString {
  const user = toByteString(credentials).split(':')[0] ?? '';
  return `${user}:${createHash('sha1').update(credentials).digest('base64')}`;
}

/**
 * Identities that an auth packet adds to a connection; undefined: refused (AuthFailed). Digest
 * never fails, since the ACL decides later; `ip` is known already.
 */
export function authenticate(
  scheme: ByteString,
  credentials: Uint8Array,
  superDigest: string | undefined,
): readonly Identity[] | undefined {
  if (scheme === 'ip') return [];
  if (scheme !== 'digest') return undefined;
  const id = digestIdentity(credentials);
  const identity = { scheme: 'digest', id };
  return id === superDigest ? [{ scheme: 'super', id: '' }, identity] : [identity];
}

/** Identities as whoAmI shows them: of a digest only the user. */
export function visibleIdentities(identities: readonly Identity[]): readonly Identity[] {
  return identities.map(({ scheme, id }) => {
    const user = scheme === 'digest' ? (id.split(':')[0] ?? '') : id;
    return { scheme, id: user };
  });
}
