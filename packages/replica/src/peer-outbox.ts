import type { MemberId, Network } from '@lockstep/model';
import { encodeFrame, type PeerMessage } from '@lockstep/transport';

/** What a turn says to each peer; leaves as one frame per peer at the end of the turn. */
export class PeerOutbox {
  readonly #network: Network;
  readonly #queues = new Map<MemberId, PeerMessage[]>();
  readonly #gossip = new Map<string, Uint8Array>();

  constructor(network: Network) {
    this.#network = network;
  }

  add(to: MemberId, message: PeerMessage): void {
    const queue = this.#queues.get(to);
    if (queue === undefined) this.#queues.set(to, [message]);
    else queue.push(message);
  }

  /** The newest payload per door replaces one not yet sent; goes to every linked member. */
  gossip(door: string, payload: Uint8Array): void {
    this.#gossip.set(door, payload);
  }

  addGossip(linked: Iterable<MemberId>): void {
    if (this.#gossip.size === 0) return;
    for (const to of linked) {
      for (const [door, payload] of this.#gossip) this.add(to, { kind: 'gossip', door, payload });
    }
    this.#gossip.clear();
  }

  /**
   * Sends everything. `before` may add a clock sample; `dropped` is told of peers whose frame did
   * not leave. Rafts resend by themselves, so nothing is kept.
   */
  flush(before: (to: MemberId) => PeerMessage | undefined, dropped: (to: MemberId) => void): void {
    for (const [to, queue] of this.#queues) {
      if (queue.length === 0) continue;
      const sample = before(to);
      if (sample !== undefined) queue.unshift(sample);
      const sent = this.#network.send(to, encodeFrame(queue));
      queue.length = 0;
      if (!sent) dropped(to);
    }
  }
}
