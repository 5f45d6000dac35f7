import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toByteString, utf8Bytes } from '@lockstep/model';
import { afterEach, expect, it } from 'vitest';
import type { MemberReplica } from '../src/index.ts';
import { divergedValue, divergence } from './diverging-extension.ts';
import { journalCommand, journalSpace } from './journal-extension.ts';
import { open, type Prepared, prepare } from './real-member.ts';

const root = mkdtempSync(join(tmpdir(), 'lockstep-replica-'));
const addresses = new Map<number, string>();
const replicas: MemberReplica[] = [];
const fatal: Error[] = [];

async function startAll(options?: Parameters<typeof open>[3]): Promise<void> {
  const prepared: Prepared[] = [];
  for (const id of [1, 2, 3]) {
    prepared.push(await prepare(root, id, addresses.get(id) ?? '127.0.0.1:0'));
    addresses.set(id, prepared.at(-1)!.mesh.address);
  }
  const onFatal = (error: Error) => fatal.push(error);
  for (const member of prepared) replicas.push(await open(member, addresses, onFatal, options));
}

async function closeAll(): Promise<void> {
  const closing = replicas.splice(0);
  await Promise.all(closing.map((replica) => new Promise<void>((done) => replica.close(done))));
}

function write(replica: MemberReplica, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    replica.submit(journalCommand(text), {
      applied: (outcome) => resolve(outcome.kind === 'done' ? `${outcome.result}` : outcome.reason),
      failed: reject,
    });
  });
}

function barrier(replica: MemberReplica): Promise<void> {
  return new Promise((resolve, reject) => {
    replica.barrier({ reached: () => resolve(), failed: reject });
  });
}

afterEach(async () => {
  await closeAll();
  rmSync(root, { recursive: true, force: true });
  addresses.clear();
  fatal.length = 0;
});

it('runs three members over real sockets and files, and again after a restart', async () => {
  await startAll();
  const texts = Array.from({ length: 60 }, (_, i) => `t${i}`);
  const answers = await Promise.all(texts.map((text, i) => write(replicas[i % 3]!, text)));
  expect(answers).toEqual(texts.map((text) => `new ${text}`));
  await Promise.all(replicas.map(barrier));
  const has = (replica: MemberReplica, text: string) =>
    replica.state.get(journalSpace, toByteString(utf8Bytes(text))) !== undefined;
  for (const replica of replicas) expect(texts.every((text) => has(replica, text))).toBe(true);

  await closeAll();
  await startAll();
  expect(await write(replicas[2]!, 'after')).toBe('new after');
  await Promise.all(replicas.map(barrier));
  for (const replica of replicas) {
    expect([...texts, 'after'].every((text) => has(replica, text))).toBe(true);
    expect(replica.incarnation).toBe(2);
  }
  expect(fatal).toEqual([]);
}, 30_000);

it('stops the member whose state differs, over real sockets, and only that', async () => {
  const { extension, command } = divergence(2);
  await startAll({ extensions: [extension], tuning: { hashCheckEntries: 20 } });
  await write(replicas[0]!, 'before');
  await new Promise<void>((applied, reject) => {
    replicas[0]!.submit(command, { applied: () => applied(), failed: reject });
  });
  await Promise.all(replicas.map(barrier));
  const odd = replicas.find((replica) => divergedValue(replica.state) === 'wrong')!;
  const others = replicas.filter((replica) => replica !== odd);
  for (let i = 0; i < 5000 && fatal.length === 0; i++) await write(others[i % 2]!, `w${i}`);
  expect(fatal.map((error) => error.message)).toEqual([
    expect.stringMatching(/state hash at index \d+ is \w{16}, the majority's is \w{16}/),
  ]);
  expect(odd.status().health).toBe('stopped');
  for (let i = 0; i < 50; i++) await write(others[i % 2]!, `after ${i}`);
  expect(others.map((replica) => replica.status().health)).toEqual(['ok', 'ok']);
}, 30_000);
