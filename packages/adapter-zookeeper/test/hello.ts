import { encodeHello, FEATURE_LEVEL } from '@lockstep/state-machine';

/** The command that opens the incarnation of the only member. */
export function hello(): Uint8Array {
  return encodeHello({
    member: 1,
    incarnation: 1,
    name: 'n1',
    version: '0.1.0',
    featureLevel: FEATURE_LEVEL,
    dataDirectory: 'test',
    addresses: {},
  });
}
