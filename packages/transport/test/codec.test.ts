import { BinaryFormatError, utf8Bytes } from '@lockstep/model';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFrame, encodeFrame, type PeerMessage } from '../src/index.ts';

const address = { from: 1, to: 2, term: 7 };
const context = { member: 3, incarnation: 4, counter: 2 ** 40 };
const configuration = {
  voters: [1, 2, 3],
  votersOutgoing: [],
  learners: [4],
  learnersNext: [],
  autoLeave: true,
};

const samples: PeerMessage[] = [
  {
    kind: 'append',
    ...address,
    prevIndex: 300,
    prevTerm: 6,
    entries: [
      { index: 301, term: 6, type: 0, data: utf8Bytes('first') },
      { index: 302, term: 7, type: 1, data: utf8Bytes('') },
    ],
    commit: 299,
    readRound: 12,
  },
  { kind: 'append-response', ...address, index: 9, reject: true, hintIndex: 3, hintTerm: 2 },
  { kind: 'heartbeat', ...address, commit: 5, readRound: 6 },
  { kind: 'heartbeat-response', ...address, readRound: 6 },
  { kind: 'read-index', ...address, context },
  { kind: 'read-index-response', ...address, context, index: 77 },
  {
    kind: 'vote',
    ...address,
    preVote: true,
    transfer: false,
    lastIndex: 1,
    lastTerm: 2,
    incarnation: 2 ** 33,
    campaign: 4,
  },
  {
    kind: 'vote-response',
    ...address,
    preVote: false,
    reject: false,
    conditional: true,
    incarnation: 3,
    campaign: 4,
  },
  { kind: 'transfer', ...address, target: 3 },
  { kind: 'timeout-now', ...address },
  {
    kind: 'forward',
    run: { origin: 2, incarnation: 3, first: 10, commands: [utf8Bytes('a'), utf8Bytes('')] },
  },
  { kind: 'forward-refused', incarnation: 3, expected: 0 },
  { kind: 'renew', group: { origin: 2, incarnation: 3, ticket: 4, leases: [1, 300, 70000] } },
  { kind: 'clock', wallMs: 1.7e12, stampMs: 12.5, echoMs: -1, quorum: true },
  { kind: 'times', clusterMs: 1234, wallMs: 1.7e12 },
  { kind: 'gossip', door: 'redis', payload: utf8Bytes('hi') },
  { kind: 'snapshot-begin', stream: 1, meta: { index: 5, term: 2, configuration } },
  { kind: 'snapshot-chunk', stream: 1, number: 1, crc: 0xdeadbeef, bytes: utf8Bytes('chunk') },
  { kind: 'snapshot-ack', stream: 1, number: 1 },
  { kind: 'snapshot-end', stream: 1, chunks: 1, crc: 3 },
  { kind: 'snapshot-installed', stream: 1, index: 5 },
  { kind: 'snapshot-failed', stream: 1, reason: 'no room' },
  { kind: 'snapshot-request', from: 2 },
  { kind: 'state-hash', index: 300, hash: '0123456789abcdef' },
];

/** Buffers and plain arrays compare alike. */
const plain = (messages: PeerMessage[]): unknown =>
  JSON.parse(
    JSON.stringify(messages, (_key, value) =>
      value instanceof Uint8Array || value?.type === 'Buffer'
        ? Buffer.from(value.data ?? value).toString('hex')
        : value,
    ),
  );

function decodes(bytes: Uint8Array): void {
  try {
    decodeFrame(bytes);
  } catch (error) {
    if (!(error instanceof BinaryFormatError)) throw error;
  }
}

describe('a peer frame', () => {
  it('carries every kind of message there and back', () => {
    for (const message of samples) {
      expect(plain(decodeFrame(encodeFrame([message])))).toEqual(plain([message]));
    }
    expect(plain(decodeFrame(encodeFrame(samples)))).toEqual(plain(samples));
  });

  it('keeps the layout that running members speak', () => {
    const golden = [
      '01010102 07ac0206ab020c0206000566697273740701000201020709010302030102 0705 06'.replaceAll(
        ' ',
        '',
      ),
    ];
    expect(Buffer.from(encodeFrame(samples.slice(0, 3))).toString('hex')).toBe(golden[0]);
    expect(Buffer.from(encodeFrame(samples.slice(5, 6))).toString('hex')).toBe(
      '010601020703048080808080204d',
    );
    expect(Buffer.from(encodeFrame(samples.slice(7, 8))).toString('hex')).toBe(
      '01ff189a01ad766f74652d726573706f6e7365010207c2c20304c3',
    );
    expect(Buffer.from(encodeFrame(samples.slice(-1))).toString('hex')).toBe(
      '01ff219401aa73746174652d68617368cd012cb030313233343536373839616263646566',
    );
    expect(Buffer.from(encodeFrame(samples.slice(8, 9))).toString('hex')).toBe(
      '01ff0f9601a87472616e7366657201020703',
    );
    expect(Buffer.from(encodeFrame(samples.slice(10, 13))).toString('hex')).toBe(
      '01070203 0a 02 0161 00 08 03 00 09 02 03 04 03 01 ac02 f0a204'.replaceAll(' ', ''),
    );
  });

  it('passes over fields that newer software adds to a control message', () => {
    const known = Buffer.from('9401aa73746174652d6861736807a0', 'hex');
    expect(known.length).toBe(15);
    const [message] = decodeFrame(Uint8Array.from([1, 255, 16, 0x95, ...known.subarray(1), 9]));
    expect(message).toEqual({ kind: 'state-hash', index: 7, hash: '' });
  });

  it('throws nothing but BinaryFormatError on random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        decodes(bytes);
        decodes(Uint8Array.from([1, ...bytes]));
        decodes(Uint8Array.from([1, 255, bytes.length, ...bytes]));
      }),
      { numRuns: 2000 },
    );
  });

  it('throws nothing but BinaryFormatError when cut or changed anywhere', () => {
    for (const message of samples) {
      const frame = encodeFrame([message]);
      for (let at = 1; at < frame.length; at++) {
        decodes(frame.subarray(0, at));
        for (const byte of [0, 1, 0x7f, 0x80, 0xc1, 0xdd, 0xff]) {
          const changed = Uint8Array.from(frame);
          changed[at] = byte;
          decodes(changed);
        }
      }
    }
  });

  it('refuses a frame of another version', () => {
    expect(() => decodeFrame(Uint8Array.from([2, 3]))).toThrow(BinaryFormatError);
  });
});
