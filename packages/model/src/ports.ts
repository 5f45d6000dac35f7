import type { Incarnation, MemberId } from './ids.ts';

/**
 * The ports: the only ways out of the deterministic zone (design §3). Production wraps Node;
 * the simulator gives virtual time, network and disk. All are callback style: no promises.
 */

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds, fractional, never decreasing, arbitrary origin. For durations. */
  monotonicMs(): number;
  /** Milliseconds since 1970, integer, may jump. Data only; nothing is ordered by it. */
  wallMs(): number;
  /** Calls back once, not before `delayMs` have passed. */
  setTimer(delayMs: number, callback: () => void): Timer;
}

export interface Random {
  /** Uniform in 0 … 2^32 − 1. */
  u32(): number;
  /** Fills the array with random bytes (ids, passwords). */
  fill(bytes: Uint8Array): void;
}

export interface Scheduler {
  /** Runs the callback after the present turn, in the order posted. */
  post(callback: () => void): void;
}

/** Frames between members. Loss, duplication across links and reordering across links may happen;
 * one link (one connection epoch) is FIFO. */
export interface Network {
  /** Begins listening and dialling; called once. */
  start(handler: NetworkHandler): void;
  /** The members to keep links to, self excluded; replaces the former set. */
  setPeers(peers: readonly PeerAddress[]): void;
  /**
   * Queues one frame; the network owns the bytes from here. False when there is no link or its
   * unsent bytes exceed the limit: the frame is dropped.
   * `bulk` frames (snapshot chunks) travel on a second connection so that they delay nothing.
   */
  send(to: MemberId, frame: Uint8Array, channel?: 'control' | 'bulk'): boolean;
  /** Bytes queued to that member and not yet handed to the operating system. */
  unsentBytes(to: MemberId, channel?: 'control' | 'bulk'): number;
  /**
   * Ends this link, both connections of it, because what came on it makes no sense; `linkDown`
   * follows, perhaps before this returns, and a new link is made. Nothing if it is down already.
   */
  reset(link: LinkInfo, reason: string): void;
  close(done: () => void): void;
}

export interface PeerAddress {
  readonly id: MemberId;
  /** `host:port` of the peer listener. */
  readonly address: string;
}

/** What a handshake proves about the other side. */
export interface LinkInfo {
  readonly member: MemberId;
  readonly incarnation: Incarnation;
  /** Grows with each link to that member; a frame's link is the newest when numbers are equal. */
  readonly link: number;
}

export interface NetworkHandler {
  linkUp(info: LinkInfo): void;
  linkDown(info: LinkInfo): void;
  /** `frame` is owned by the handler. */
  frame(info: LinkInfo, frame: Uint8Array, channel: 'control' | 'bulk'): void;
}

/** Stable codes of the operating system's errors that the log treats apart; the rest are `EIO`. */
export interface FileError {
  readonly code: 'ENOENT' | 'EEXIST' | 'ENOSPC' | 'EIO' | string;
  readonly message: string;
}

export type Done = (error: FileError | undefined) => void;
export type FileHandle = number & { readonly __file?: never };

/** Files by path relative to the data directory. Operations on one file complete in order. */
export interface FileSystem {
  /** `create` makes a new file and fails with EEXIST when there is one. */
  open(
    path: string,
    mode: 'read' | 'write' | 'create',
    done: (error: FileError | undefined, file: FileHandle) => void,
  ): void;
  close(file: FileHandle, done: Done): void;
  /** Writes all buffers one after another from `offset`. The buffers must not change until done. */
  write(file: FileHandle, buffers: readonly Uint8Array[], offset: number, done: Done): void;
  /** As `write` and then `sync`, but perhaps in one operation of the system. */
  writeDurably(file: FileHandle, buffers: readonly Uint8Array[], offset: number, done: Done): void;
  /** Makes what was written before this call durable (fdatasync). */
  sync(file: FileHandle, done: Done): void;
  /** Reads up to `length` bytes; fewer at the end of the file. The caller owns the bytes. */
  read(
    file: FileHandle,
    offset: number,
    length: number,
    done: (error: FileError | undefined, bytes: Uint8Array) => void,
  ): void;
  size(file: FileHandle, done: (error: FileError | undefined, sizeBytes: number) => void): void;
  truncate(file: FileHandle, sizeBytes: number, done: Done): void;
  rename(from: string, to: string, done: Done): void;
  unlink(path: string, done: Done): void;
  makeDirectory(path: string, done: Done): void;
  list(path: string, done: (error: FileError | undefined, names: string[]) => void): void;
  /** Makes created, renamed and removed names of that directory durable. */
  syncDirectory(path: string, done: Done): void;
}

/** One change of the state image: `value` undefined deletes the key. */
export interface ImageChange {
  readonly key: Uint8Array;
  readonly value: Uint8Array | undefined;
}

/** Ordered, atomic key-value store under the state image (classic-level; memory twin). */
export interface ImageStore {
  /** One atomic batch. Without `sync` a suffix of batches may be lost when the machine crashes;
   * a synced batch makes all before it durable. One write is in flight at a time. */
  write(changes: readonly ImageChange[], sync: boolean, done: Done): void;
  /** Values as they stand when this is called: writes that begin later change nothing in them, so
   * that a version of history once asked for is answered although compaction removes it. */
  getMany(
    keys: readonly Uint8Array[],
    done: (error: FileError | undefined, values: (Uint8Array | undefined)[]) => void,
  ): void;
  /** A consistent view that later writes do not change; must be closed. */
  snapshot(): ImageSnapshot;
  /** A write waits because the device is full; it goes on by itself. */
  readonly outOfSpace?: boolean;
  close(done: Done): void;
}

export interface ImageSnapshot {
  /** The next records in key order, about `bytes` of them, none at the end. */
  next(
    bytes: number,
    done: (error: FileError | undefined, records: { key: Uint8Array; value: Uint8Array }[]) => void,
  ): void;
  close(): void;
}

/** Directories that hold images: opened by name, switched by the snapshot installer. */
export interface ImageDirectory {
  open(
    name: string,
    create: boolean,
    done: (error: FileError | undefined, store: ImageStore) => void,
  ): void;
  remove(name: string, done: Done): void;
  /** Renames a closed image; an image set aside for damage keeps its records. */
  rename(from: string, to: string, done: Done): void;
}
