import { BinaryWriter, writeCommandHead } from '@lockstep/model';
import { describe, expect, it } from 'vitest';
import { encodeHello } from '../src/index.ts';
import { Driver } from './driver.ts';

const HELLO = 0x0001;

describe('a command damaged on its way', () => {
  it('is void on every member alike, and what follows it applies', () => {
    const [driver, twin] = [new Driver(), new Driver()];
    const head = writeCommandHead(new BinaryWriter(16), HELLO, 1).take();
    expect(driver.apply(head)).toEqual([{ kind: 'void', reason: 'malformed' }]);
    expect(driver.apply(head.subarray(0, 3))).toEqual([{ kind: 'void', reason: 'malformed' }]);
    for (let i = 0; i < 2; i++) twin.apply(new Uint8Array(0));
    expect(driver.machine.stateHash()).toBe(twin.machine.stateHash());
    expect(driver.hello(1, 1)).toMatchObject({ kind: 'done', result: 'accepted' });
  });

  it('is told from one that newer software wrote, which stops this member', () => {
    const driver = new Driver();
    const newer = writeCommandHead(new BinaryWriter(16), HELLO, 9).take();
    expect(driver.machine.knows(newer)).toBe(false);
    expect(() => driver.apply(newer)).toThrow(
      'the log holds version 9 of system.hello (0x0001), this software knows versions up to 1: upgrade it',
    );
  });

  it('and one of a procedure that only newer software has', () => {
    const driver = new Driver();
    const unknown = writeCommandHead(new BinaryWriter(16), 0xfff0, 1).take();
    expect(driver.machine.knows(unknown)).toBe(false);
    expect(() => driver.apply(unknown)).toThrow('procedure 0xfff0, which this software does not');
  });

  it('is kept out of the log when its head makes no sense', () => {
    const { machine } = new Driver();
    const hello = encodeHello({
      member: 1,
      incarnation: 1,
      name: '',
      version: '',
      featureLevel: 1,
      dataDirectory: '',
      addresses: {},
    });
    expect(machine.knows(hello)).toBe(true);
    expect(machine.knows(new Uint8Array(0))).toBe(true);
    expect(machine.knows(hello.subarray(0, 3))).toBe(false);
    const flags = Uint8Array.from(hello);
    flags[3] = 0x80;
    expect(machine.knows(flags)).toBe(false);
  });
});
