import type { MemberId } from '@lockstep/model';
import type { Handshake } from './handshake.ts';

/** A member whose frames make no sense is not listened to for so long. */
const RESET_REST_MS = 1000;

/** Why another member is refused although cluster and ids fit; undefined when it is welcome.
 * `isPeer`: it is one of those that `setPeers` named. */
export type Verify = (theirs: Handshake, isPeer: boolean) => string | undefined;

/** What the mesh knows of the other side's place here when a handshake comes. */
export interface Standing {
  /** `setPeers` named it. */
  readonly isPeer: boolean;
  /** Its socket was opened by this side. */
  readonly dialled: boolean;
  /** This side has a socket open to it, or tries its handshake, on the same channel. */
  readonly holdsOwn: boolean;
}

/** Decides which handshakes are good. */
export class Admission {
  readonly #member: MemberId;
  readonly #verify: Verify;
  /** Newest handshake of each member and channel in this life: older ones are replays, or come
   * from a data directory that was set back. Kept beyond the peer: an address may change. */
  readonly #newest = new Map<string, Pick<Handshake, 'incarnation' | 'link'>>();
  readonly #restsUntilMs = new Map<MemberId, number>();

  /** Without `verify` everybody that `setPeers` named is welcome, and nobody else. */
  constructor(member: MemberId, verify: Verify = unknownRefusal) {
    this.#member = member;
    this.#verify = verify;
  }

  /** Undefined when the other side is welcome. */
  refusal(theirs: Handshake, { isPeer, dialled, holdsOwn }: Standing): string | undefined {
    const { member, incarnation, link } = theirs;
    // A peer that went while its handshake was under way does not come back as a guest.
    const gone = dialled && !isPeer;
    const why = gone ? unknownRefusal(theirs, false) : this.#verify(theirs, isPeer);
    if (why !== undefined) return why;
    if (this.restMs(member) > 0) {
      return `frames of member ${member} were malformed a moment ago`;
    }
    const newest = this.#newest.get(`${member} ${theirs.channel}`);
    const last = newest?.incarnation ?? incarnation;
    if (incarnation < last) {
      return `incarnation ${incarnation} of member ${member} is over, ${last} was here`;
    }
    // Of two links at a time that of the smaller id stays, else each side could end the other's.
    // A new process proves that the present link is none any more.
    if (holdsOwn && !dialled && member > this.#member && incarnation === last) {
      return `member ${this.#member} holds a link that it dialled`;
    }
    if (newest === undefined || incarnation > last || link > newest.link) return undefined;
    return 'a newer link is up';
  }

  /** A handshake is done. */
  settled({ member, channel, incarnation, link }: Handshake): void {
    this.#newest.set(`${member} ${channel}`, { incarnation, link });
  }

  /** A guest is gone: what is remembered stays bounded. */
  forget(member: MemberId): void {
    for (const channel of ['control', 'bulk']) this.#newest.delete(`${member} ${channel}`);
    this.#restsUntilMs.delete(member);
  }

  /** How long that member is not listened to from now. */
  restMs(member: MemberId): number {
    return Math.max(0, (this.#restsUntilMs.get(member) ?? 0) - performance.now());
  }

  rest(member: MemberId): void {
    this.#restsUntilMs.set(member, performance.now() + RESET_REST_MS);
  }

  /** Whether a member that `setPeers` does not name may still be linked. */
  isWelcomeGuest(theirs: Handshake): boolean {
    return this.#verify(theirs, false) === undefined;
  }
}

function unknownRefusal({ member }: Handshake, isPeer: boolean): string | undefined {
  return isPeer ? undefined : `member ${member} is not known here`;
}
