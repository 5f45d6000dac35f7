import type { ByteString, Revision } from '@lockstep/model';
import type { KeyspaceIndex, LiveRecord } from '@lockstep/state-machine';

/** A kept script: what SCRIPT LOAD keeps stays until SCRIPT FLUSH. */
export interface KeptScript {
  readonly body: ByteString;
  /** By SCRIPT LOAD; false: it came with an EVAL and makes room for newer ones. */
  readonly loaded: boolean;
}

/** Scripts that came with EVAL and how old they are: which one goes when there are too many. */
export class ScriptIndex implements KeyspaceIndex<KeptScript> {
  readonly #evaluated = new Map<ByteString, Revision>();

  changed(
    sha: ByteString,
    _before: LiveRecord<KeptScript> | undefined,
    after: LiveRecord<KeptScript> | undefined,
  ): void {
    if (after === undefined || after.value.loaded) this.#evaluated.delete(sha);
    else this.#evaluated.set(sha, after.createRevision);
  }

  cleared(): void {
    this.#evaluated.clear();
  }

  get size(): number {
    return this.#evaluated.size;
  }

  /** The oldest by the revision at which it came, then digest: nothing of it depends on how this
   * index was built. */
  oldest(): ByteString | undefined {
    let found: ByteString | undefined;
    let age: Revision = 0;
    for (const [sha, revision] of this.#evaluated) {
      const older = revision < age || (revision === age && found !== undefined && sha < found);
      if (found !== undefined && !older) continue;
      found = sha;
      age = revision;
    }
    return found;
  }
}
