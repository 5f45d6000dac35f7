import { pass } from '../../support/until.ts';
import { BodyReader, body, type Frame, Op } from '../../support/zookeeper.ts';
import { SessionActor } from './zookeeper-session.ts';

const WATCHED = '/chaos';
const DELETED = 2;

/**
 * A persistent recursive watch: every change below a path, with the zxid in the event's header. An
 * event comes before any reply that could show its change, so that each reply says up to which
 * zxid the stream is complete. A new connection is a new stream.
 */
export class ZooKeeperWatcher extends SessionActor {
  #streams = 0;

  protected async connected(): Promise<void> {
    const stream = `${this.name}/${++this.#streams}`;
    const early: Frame[] = [];
    this.connection.onEvent = (event) => early.push(event);
    const { error, zxid } = await this.call(Op.addWatch, body.addWatch(WATCHED));
    if (error !== 0) throw new Error(`addWatch ${WATCHED}: ${error}`);
    const from = Number(zxid) + 1;
    this.note({ op: 'watch', key: stream, prefix: `${WATCHED}/`, from }, {});
    this.connection.onEvent = (event) => this.#tell(stream, event);
    for (const event of early) this.#tell(stream, event);
    while (!this.stage.stopping && !this.connection.closed) {
      await pass(this.random.between(20, 300));
      const reply = await this.call(Op.sync, body.path(WATCHED));
      if (reply.error !== 0) throw new Error(`sync ${WATCHED}: ${reply.error}`);
      this.note({ op: 'progress', key: stream }, { revision: Number(reply.zxid) });
    }
  }

  #tell(stream: string, { zxid, body: bytes }: Frame): void {
    const reader = new BodyReader(bytes);
    const type = reader.int();
    reader.int();
    const subject = reader.text();
    if (subject === WATCHED) return;
    const value = type === DELETED ? { value: null } : {};
    this.note({ op: 'event', key: stream, subject, ...value }, { revision: Number(zxid) });
  }
}
