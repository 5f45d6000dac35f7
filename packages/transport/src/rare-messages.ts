import { BinaryFormatError } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type { PeerMessage } from './peer-message.ts';
import type { Plain } from './plain-message-pack.ts';

/** Layout version, the first element of every rare message. */
const RARE_FORMAT = 1;

/** A rare message as [version, kind, fields …]; undefined when the kind has a fixed layout. */
export function rareToPlain(message: PeerMessage): readonly Plain[] | undefined {
  const m = message;
  switch (m.kind) {
    case 'vote':
      return [
        RARE_FORMAT,
        m.kind,
        ...[m.from, m.to, m.term],
        ...[m.preVote, m.transfer],
        ...[m.lastIndex, m.lastTerm, m.incarnation, m.campaign],
      ];
    case 'vote-response':
      return [
        RARE_FORMAT,
        m.kind,
        ...[m.from, m.to, m.term],
        ...[m.preVote, m.reject],
        ...[m.incarnation, m.campaign],
        m.conditional,
      ];
    case 'transfer':
      return [RARE_FORMAT, m.kind, m.from, m.to, m.term, m.target];
    case 'timeout-now':
      return [RARE_FORMAT, m.kind, m.from, m.to, m.term];
    case 'gossip':
      return [RARE_FORMAT, m.kind, m.door, m.payload];
    case 'state-hash':
      return [RARE_FORMAT, m.kind, m.index, m.hash];
    case 'snapshot-begin': {
      const { index, term, configuration } = m.meta;
      return [RARE_FORMAT, m.kind, m.stream, index, term, configurationToPlain(configuration)];
    }
    case 'snapshot-ack':
      return [RARE_FORMAT, m.kind, m.stream, m.number];
    case 'snapshot-end':
      return [RARE_FORMAT, m.kind, m.stream, m.chunks, m.crc];
    case 'snapshot-installed':
      return [RARE_FORMAT, m.kind, m.stream, m.index];
    case 'snapshot-failed':
      return [RARE_FORMAT, m.kind, m.stream, m.reason];
    case 'snapshot-request':
      return [RARE_FORMAT, m.kind, m.from];
    default:
      return undefined;
  }
}

/**
 * Twin of the above. Throws BinaryFormatError when a field is missing or of another type. Fields
 * behind those known here were added by newer software and are passed over.
 */
export function rareFromPlain(plain: readonly Plain[]): PeerMessage {
  const fields = new Fields(plain);
  const format = fields.number();
  if (format !== RARE_FORMAT) throw new BinaryFormatError(`control format ${format} is unknown`);
  return fromFields(fields.string(), fields);
}

function fromFields(kind: string, f: Fields): PeerMessage {
  switch (kind) {
    case 'vote':
      return {
        kind,
        ...addressed(f),
        preVote: f.boolean(),
        transfer: f.boolean(),
        lastIndex: f.number(),
        lastTerm: f.number(),
        incarnation: f.number(),
        campaign: f.number(),
      };
    case 'vote-response':
      return {
        kind,
        ...addressed(f),
        preVote: f.boolean(),
        reject: f.boolean(),
        incarnation: f.number(),
        campaign: f.number(),
        conditional: f.boolean(),
      };
    case 'transfer':
      return { kind, ...addressed(f), target: f.number() };
    case 'timeout-now':
      return { kind, ...addressed(f) };
    case 'gossip':
      return { kind, door: f.string(), payload: f.bytes() };
    case 'state-hash':
      return { kind, index: f.number(), hash: f.string() };
    default:
      return snapshotFromFields(kind, f);
  }
}

function snapshotFromFields(kind: string, f: Fields): PeerMessage {
  switch (kind) {
    case 'snapshot-begin': {
      const stream = f.number();
      const [index, term] = [f.number(), f.number()];
      return { kind, stream, meta: { index, term, configuration: f.configuration() } };
    }
    case 'snapshot-ack':
      return { kind, stream: f.number(), number: f.number() };
    case 'snapshot-end':
      return { kind, stream: f.number(), chunks: f.number(), crc: f.number() };
    case 'snapshot-installed':
      return { kind, stream: f.number(), index: f.number() };
    case 'snapshot-failed':
      return { kind, stream: f.number(), reason: f.string() };
    case 'snapshot-request':
      return { kind, from: f.number() };
    default:
      throw new BinaryFormatError(`control message '${kind.slice(0, 40)}' is unknown`);
  }
}

function addressed(f: Fields) {
  return { from: f.number(), to: f.number(), term: f.number() };
}

function configurationToPlain(configuration: Configuration): Plain {
  const { voters, votersOutgoing, learners, learnersNext, autoLeave } = configuration;
  return [[...voters], [...votersOutgoing], [...learners], [...learnersNext], autoLeave];
}

/** Takes the fields of a message one after another and checks the type of each. */
class Fields {
  readonly #plain: readonly Plain[];
  #at = 0;

  constructor(plain: readonly Plain[]) {
    this.#plain = plain;
  }

  number(): number {
    const value = this.#next();
    const fits = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
    return fits ? value : this.#wrong('a number');
  }

  boolean(): boolean {
    const value = this.#next();
    return typeof value === 'boolean' ? value : this.#wrong('a boolean');
  }

  string(): string {
    const value = this.#next();
    return typeof value === 'string' ? value : this.#wrong('a string');
  }

  bytes(): Uint8Array {
    const value = this.#next();
    return value instanceof Uint8Array ? value : this.#wrong('bytes');
  }

  configuration(): Configuration {
    const value = this.#next();
    if (!Array.isArray(value)) return this.#wrong('a configuration');
    const parts = new Fields(value);
    const configuration = {
      voters: parts.#numbers(),
      votersOutgoing: parts.#numbers(),
      learners: parts.#numbers(),
      learnersNext: parts.#numbers(),
      autoLeave: parts.boolean(),
    };
    parts.end();
    return configuration;
  }

  end(): void {
    if (this.#at !== this.#plain.length) this.#wrong('the end');
  }

  #numbers(): number[] {
    const value = this.#next();
    if (!Array.isArray(value)) return this.#wrong('a list of numbers');
    const list = new Fields(value);
    return value.map(() => list.number());
  }

  #next(): Plain | undefined {
    return this.#plain[this.#at++];
  }

  #wrong(wanted: string): never {
    throw new BinaryFormatError(`field ${this.#at} of a control message is not ${wanted}`);
  }
}
