import type { RpcError } from '@lockstep/adapter-etcd';
import type { EtcdConnection } from '../doors/etcd-connection.ts';
import type { MemberDoors } from '../doors/member-doors.ts';
import { ConnectedDoorClient } from './door-client.ts';

/** Bytes of a text. */
export const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
export const textOf = (value: Uint8Array): string => Buffer.from(value).toString('latin1');

/** A client of the etcd door. */
export abstract class EtcdDoorClient extends ConnectedDoorClient<EtcdConnection> {
  protected doors: MemberDoors | undefined;

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
