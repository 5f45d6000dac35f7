import type { RpcError } from '@lockstep/adapter-etcd';
import type { EtcdConnection } from '../doors/etcd-connection.ts';
import type { MemberDoors } from '../doors/member-doors.ts';
import type { Witness } from '../invariants/real-time.ts';
import { DoorClient, type DoorContext } from './door-client.ts';

/** Bytes of a text. */
export const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
export const textOf = (value: Uint8Array): string => Buffer.from(value).toString('latin1');

/** A client of the etcd door with one connection at a time, at whatever member. */
export abstract class EtcdDoorClient extends DoorClient {
  protected readonly witness: Witness;
  protected connection: EtcdConnection | undefined;
  protected doors: MemberDoors | undefined;

  constructor(context: DoorContext) {
    super(context);
    this.witness = { name: context.name, seen: -1 };
  }

  protected act(): void {
    const connection = this.connected();
    if (connection === undefined) this.done(200);
    else this.use(connection);
  }

  /** One round on an open connection; calls `done` once. */
  protected abstract use(connection: EtcdConnection): void;
  /** The connection ended by itself, with all its calls. */
  protected disconnected(): void {}

  protected connected(): EtcdConnection | undefined {
    if (this.connection?.isOver === false) return this.connection;
    const doors = this.context.doorways.pick(this.context.stream, false);
    if (doors === undefined) return undefined;
    const connection = doors.dialEtcd(() => {
      if (this.connection === connection) this.connection = undefined;
      this.disconnected();
    });
    this.connection = connection;
    this.doors = doors;
    return connection;
  }

  protected leave(): void {
    const { connection } = this;
    this.connection = undefined;
    connection?.close();
  }

  /** Answers that a cluster in trouble, or another client, is the reason for. */
  protected expect(what: string, error: RpcError | undefined, ...texts: string[]): void {
    if (error === undefined || error.code === UNAVAILABLE) return;
    if (texts.some((text) => error.message.includes(text))) return;
    if (error.message.includes('not supported for learner')) {
      this.leave();
      return;
    }
    const { world, name } = this.context;
    world.fail('ExpectedReply', `${name}: ${what}: ${error.code} ${error.message}`);
  }
}

const UNAVAILABLE = 14;
