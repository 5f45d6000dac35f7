import type { ByteString, Revision } from '@lockstep/model';

/** One watched key: the revision of its last change, 0 when it was absent. */
export interface WatchedKey {
  readonly db: number;
  readonly key: ByteString;
  readonly revision: Revision;
}
