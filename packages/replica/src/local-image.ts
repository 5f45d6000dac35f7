import type { ByteString } from '@lockstep/model';
import type { ImageSink } from '@lockstep/state-machine';

/** A state image that is a map: image sink and history source of a local replica. */
export class LocalImage implements ImageSink {
  readonly #records = new Map<ByteString, Uint8Array>();

  set(key: ByteString, value: Uint8Array | undefined): void {
    if (value === undefined) this.#records.delete(key);
    else this.#records.set(key, value);
  }

  get(key: ByteString): Uint8Array | undefined {
    return this.#records.get(key);
  }

  /** All records in key order, as a fresh state machine wants them for `load`. */
  records(): { readonly key: ByteString; readonly value: Uint8Array }[] {
    return [...this.#records]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => ({ key, value }));
  }
}
