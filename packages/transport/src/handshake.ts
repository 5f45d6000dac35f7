import { BinaryFormatError, type Incarnation, type MemberId } from '@lockstep/model';
import { packPlain, unpackPlain } from './plain-message-pack.ts';

/** Version of the protocol between members; both sides must speak the same. */
export const PEER_PROTOCOL = 1;

/** First message of each side on each connection. */
export interface Handshake {
  readonly protocol: number;
  readonly channel: 'control' | 'bulk';
  /** 64-bit cluster id as 16 hex digits. */
  readonly cluster: string;
  readonly member: MemberId;
  /** Whom the sender believes to speak to. */
  readonly target: MemberId;
  readonly incarnation: Incarnation;
  /** UUID of the sender's data directory (design §10). */
  readonly dataDirectory: string;
  /** Counts the sender's links, so that a delayed old connection cannot replace a newer one. */
  readonly link: number;
  /** Feature levels at which the sender can take part (design §2). The first release does not say:
   * it knows level 1. */
  readonly levels: FeatureLevels;
}

export interface FeatureLevels {
  readonly oldest: number;
  readonly newest: number;
}

const FIRST_LEVELS: FeatureLevels = { oldest: 1, newest: 1 };

/** The caller owns the result. */
export function encodeHandshake(h: Handshake): Uint8Array {
  const who = [h.cluster, h.member, h.target, h.incarnation, h.dataDirectory, h.link];
  // Older software passes over what stands behind the link.
  return packPlain([h.protocol, h.channel, ...who, h.levels.newest, h.levels.oldest]);
}

/**
 * Twin of the above. Throws BinaryFormatError when malformed. Of a different protocol version only
 * the version is read, since its other fields may be others.
 */
export function decodeHandshake(bytes: Uint8Array): Handshake {
  const [protocol, channel, cluster, member, target, incarnation, dataDirectory, link, ...more] =
    unpackPlain(bytes);
  const unread = { cluster: '', member: 0, target: 0, incarnation: 0, dataDirectory: '', link: 0 };
  if (typeof protocol === 'number' && protocol !== PEER_PROTOCOL) {
    return { protocol, channel: 'control', ...unread, levels: FIRST_LEVELS };
  }
  const [newest = 1, oldest = 1] = more;
  if (
    protocol !== PEER_PROTOCOL ||
    (channel !== 'control' && channel !== 'bulk') ||
    typeof cluster !== 'string' ||
    !isNumber(member) ||
    !isNumber(target) ||
    !isNumber(incarnation) ||
    typeof dataDirectory !== 'string' ||
    !isNumber(link) ||
    !isNumber(newest) ||
    !isNumber(oldest)
  ) {
    throw new BinaryFormatError('handshake is malformed');
  }
  const levels = { newest, oldest };
  return { protocol, channel, cluster, member, target, incarnation, dataDirectory, link, levels };
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/**
 * Why the other side is refused, in words for its log and ours; undefined when it is welcome.
 * `own` is what this side says of itself.
 */
export function refusal(own: Handshake, theirs: Handshake): string | undefined {
  if (theirs.protocol !== own.protocol) {
    return `peer protocol ${theirs.protocol} is not ${own.protocol}: upgrade the older member`;
  }
  if (theirs.cluster !== own.cluster) {
    return `cluster ${theirs.cluster} is not ${own.cluster}: check --initial-cluster and token`;
  }
  if (theirs.member === own.member) return `member ${own.member} is this member: check addresses`;
  if (theirs.target !== own.member) {
    return `member ${theirs.target} was wanted, this is ${own.member}: check addresses`;
  }
  if (own.target !== 0 && theirs.member !== own.target) {
    return `member ${own.target} was wanted, this is ${theirs.member}: check addresses`;
  }
  return undefined;
}
