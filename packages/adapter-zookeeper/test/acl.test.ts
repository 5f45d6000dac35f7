import { describe, expect, test } from 'vitest';
import {
  type AclEntry,
  decodeIdentities,
  encodeIdentities,
  maskDigests,
  OPEN_ACL,
  permits,
  resolveAcl,
} from '../src/acl.ts';
import { isInSubnet } from '../src/addresses.ts';
import { authenticate } from '../src/authentication.ts';
import { Permission } from '../src/opcodes.ts';

const ip = { scheme: 'ip', id: '127.0.0.1' };
const bob = { scheme: 'digest', id: 'bob:2/pYcOCd7fsXhyV8PGYcDrQUJ4A=' };
const acl = (scheme: string, id: string, perms = 31): AclEntry => ({ scheme, id, perms });

describe('ACLs of new nodes', () => {
  test('world:anyone with everything becomes the shared open ACL', () => {
    expect(resolveAcl([acl('world', 'anyone')], [ip])).toBe(OPEN_ACL);
  });

  test.each([
    ['nothing', null],
    ['no entry', []],
    ['world with a name', [acl('world', 'bob')]],
    ['a digest without a colon', [acl('digest', 'bob')]],
    ['a digest with two colons', [acl('digest', 'a:b:c')]],
    ['an unknown scheme', [acl('kerberos', 'bob')]],
    ['an address that is none', [acl('ip', '300.1.1.1')]],
    ['auth from a connection with only an address', [acl('auth', '')]],
  ])('%s is refused', (_name, entries) => {
    expect(resolveAcl(entries, [ip])).toBeUndefined();
  });

  test('duplicates collapse, then auth stands for every proven identity', () => {
    const entry = acl('digest', bob.id, 1);
    expect(resolveAcl([entry, entry, acl('auth', 'ignored', 1)], [ip, bob])).toEqual([
      entry,
      entry,
    ]);
  });
});

describe('permission checks', () => {
  test('an entry grants its own bits to its own identity', () => {
    const list = [acl('digest', bob.id, Permission.Read)];
    expect(permits(list, Permission.Read, () => [ip, bob])).toBe(true);
    expect(permits(list, Permission.Write, () => [ip, bob])).toBe(false);
    expect(permits(list, Permission.Read, () => [ip])).toBe(false);
  });

  test('super passes everything', () => {
    expect(permits([acl('digest', bob.id, 0)], 31, () => [{ scheme: 'super', id: '' }])).toBe(true);
  });

  test('the identities of an open ACL are never looked at', () => {
    expect(
      permits(OPEN_ACL, Permission.Write, () => {
        throw new Error('looked at');
      }),
    ).toBe(true);
  });

  test.each([
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', '127.0.0.0/8', true],
    ['128.0.0.1', '127.0.0.0/8', false],
    ['10.1.255.255', '10.1.0.0/15', true],
    ['::1', '::1/128', true],
    ['fe80::1:2', 'fe80::/10', true],
    ['::1', '0.0.0.0/0', false],
  ])('%s against ip:%s is %s', (address, subnet, inside) => {
    expect(isInSubnet(address, subnet)).toBe(inside);
  });

  test('hashes are hidden from readers without ADMIN', () => {
    expect(maskDigests([acl('digest', bob.id, 1)])).toEqual([acl('digest', 'bob:x', 1)]);
  });
});

describe('authentication', () => {
  test('a digest is the base64 of the SHA-1 of user and password', () => {
    // As DigestAuthenticationProvider prints it for super:test.
    expect(authenticate('digest', Buffer.from('super:test'), undefined)).toEqual([
      { scheme: 'digest', id: 'super:D/InIHSb7yEEbrWz8b9l71RjZJU=' },
    ]);
  });

  test('the configured super digest adds the super identity', () => {
    const digest = 'super:D/InIHSb7yEEbrWz8b9l71RjZJU=';
    expect(authenticate('digest', Buffer.from('super:test'), digest)).toContainEqual({
      scheme: 'super',
      id: '',
    });
  });

  test('unknown schemes fail, ip changes nothing', () => {
    expect(authenticate('world', Buffer.from('anyone'), undefined)).toBeUndefined();
    expect(authenticate('ip', Buffer.alloc(0), undefined)).toEqual([]);
  });

  test('identities survive the log', () => {
    expect(decodeIdentities(encodeIdentities([ip, bob]))).toEqual([ip, bob]);
  });
});
