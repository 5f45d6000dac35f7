import type { MemberReplica } from '@lockstep/replica';
import type { ImageSink, StateMachine } from '@lockstep/state-machine';
import type { OpenLog } from '@lockstep/storage';
import type { SimNode } from './node.ts';
import type { Life } from './world.ts';

/** Where the nodes let the invariants look in. Nothing of it changes what the members do. */
export interface Observer {
  /** Wraps the log of a life, to see what is appended and what is durable. */
  log(node: SimNode, life: Life, open: OpenLog): OpenLog;
  /** Makes a state machine over a watched image and watches what it applies. */
  machine(
    node: SimNode,
    life: Life,
    image: ImageSink,
    make: (image: ImageSink) => StateMachine,
  ): StateMachine;
  opened(node: SimNode, replica: MemberReplica): void;
  /** Its disk was replaced by an empty one. */
  wiped(node: SimNode): void;
  /** The life is over. */
  ended(node: SimNode): void;
}
