import { describe, expect, it } from 'vitest';
import { decodeHandshake, encodeHandshake, type Handshake } from '../src/handshake.ts';
import { packPlain, unpackPlain } from '../src/plain-message-pack.ts';

const said: Handshake = {
  protocol: 1,
  channel: 'control',
  cluster: '00000000000000aa',
  member: 1,
  target: 2,
  incarnation: 3,
  dataDirectory: 'uuid',
  link: 4,
  levels: { oldest: 1, newest: 2 },
};

describe('a handshake', () => {
  it('comes back as it was said', () => {
    expect(decodeHandshake(encodeHandshake(said))).toEqual(said);
  });

  it('of the first release, which says nothing of levels, knows the first', () => {
    const old = packPlain([1, 'control', '00000000000000aa', 1, 2, 3, 'uuid', 4]);
    expect(decodeHandshake(old)).toEqual({ ...said, levels: { oldest: 1, newest: 1 } });
  });

  it('says first, and in its order, what the first release reads', () => {
    const words = unpackPlain(encodeHandshake(said));
    expect(words.slice(0, 8)).toEqual([1, 'control', '00000000000000aa', 1, 2, 3, 'uuid', 4]);
  });

  it('is malformed when a level is no number', () => {
    const bad = packPlain([1, 'control', '00000000000000aa', 1, 2, 3, 'uuid', 4, 'two']);
    expect(() => decodeHandshake(bad)).toThrow('handshake is malformed');
  });
});
