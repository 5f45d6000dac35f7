import type { MemberId, Network } from '@lockstep/model';
import { encodeFrame, type PeerMessage } from '@lockstep/transport';

/** What a turn says to each peer; leaves as one frame per peer at the end of the turn. */
export class PeerOutbox {
  readonly #network: Network;
  readonly #queues = new Map<MemberId, PeerMessage[]>();

  constructor(network: Network) {
    this.#network = network;
  }

  add(to: MemberId, message: PeerMessage): void {
    const queue = this.#queues.get(to);
    if (queue === undefined) this.#queues.set(to, [message]);
    else queue.push(message);
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
