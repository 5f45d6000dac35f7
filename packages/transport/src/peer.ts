import type { LinkInfo, MemberId } from '@lockstep/model';
import type { Connection } from './connection.ts';
import type { Dialler } from './dialler.ts';

export type Channel = 'control' | 'bulk';

/** Another member as the mesh sees it. */
export interface Peer {
  readonly id: MemberId;
  /** Undefined: a guest, which `setPeers` does not name; it is here as long as it is linked. */
  readonly address: string | undefined;
  readonly diallers: Partial<Record<Channel, Dialler>>;
  readonly connections: Partial<Record<Channel, Connection>>;
  /** Present while the control link is up. */
  info: LinkInfo | undefined;
}

/** What links a guest already links the peer that it becomes. */
export function newPeer(id: MemberId, address?: string, guest?: Peer): Peer {
  const { connections, info } = guest ?? { connections: {}, info: undefined };
  return { id, address, diallers: {}, connections, info };
}
