import type { ByteString } from '@lockstep/model';
import { encodeIdentities, type Identity } from './acl.ts';
import { authenticate } from './authentication.ts';

/** Identities travel with each command of a connection, so they must stay small. */
const IDENTITY_BYTES_MAX = 16 * 1024;

/** Who a connection is: its address first; identities are only ever added. */
export class ConnectionIdentities {
  #list: readonly Identity[];
  #encoded: Uint8Array;

  constructor(address: string) {
    this.#list = [{ scheme: 'ip', id: address }];
    this.#encoded = encodeIdentities(this.#list);
  }

  get list(): readonly Identity[] {
    return this.#list;
  }

  /** As commands carry them. */
  get encoded(): Uint8Array {
    return this.#encoded;
  }

  /** Adds what an auth packet proves; false when it is refused (AuthFailed). */
  add(scheme: ByteString, credentials: Uint8Array, superDigest: string | undefined): boolean {
    if (this.#encoded.length + credentials.length > IDENTITY_BYTES_MAX) return false;
    const added = authenticate(scheme, credentials, superDigest);
    if (added === undefined) return false;
    const isNew = ({ scheme: s, id }: Identity) =>
      !this.#list.some((known) => known.scheme === s && known.id === id);
    this.#list = [...this.#list, ...added.filter(isNew)];
    this.#encoded = encodeIdentities(this.#list);
    return true;
  }
}
