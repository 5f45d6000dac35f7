import type { FileError } from '@lockstep/model';
import { describe, expect, it } from 'vitest';
import { DataDirectory } from '../src/data-directory.ts';
import { lockDirectory } from '../src/directory-lock.ts';
import { temporaryDirectory } from './disk-fixtures.ts';
import { memoryWorld } from './virtual-fixtures.ts';

const IDENTITY = { uuid: 'a-b-c', name: 'n1', member: 3, cluster: '00000000000000ab' };

type World = ReturnType<typeof memoryWorld>;

function open({ turns, disk }: World): { error?: FileError | undefined; directory: DataDirectory } {
  let result: { error?: FileError | undefined; directory: DataDirectory } | undefined;
  DataDirectory.open(disk.mount(), (error, directory) => {
    result = { error, directory };
  });
  turns.drain();
  return result!;
}

/** Creates, takes three incarnations and switches the image; says what was acknowledged. */
function run({ turns, disk }: World) {
  const seen = { created: false, incarnation: 0, image: undefined as string | undefined };
  DataDirectory.create(disk.mount(), IDENTITY, (error, directory) => {
    if (error !== undefined) return;
    seen.created = true;
    const took = (failure: FileError | undefined, incarnation: number): void => {
      if (failure === undefined) seen.incarnation = incarnation;
    };
    directory.nextIncarnation(took);
    directory.setImage('image-2', (failure) => {
      if (failure === undefined) seen.image = 'image-2';
    });
    directory.nextIncarnation(took);
  });
  turns.drain();
  return seen;
}

describe('data directory', () => {
  it('keeps identity, incarnation and image over a restart', () => {
    const world = memoryWorld();
    expect(open(world).error?.code).toBe('ENOENT');
    expect(run(world)).toEqual({ created: true, incarnation: 2, image: 'image-2' });
    const { directory } = open(world);
    expect(directory.identity).toEqual(IDENTITY);
    expect([directory.incarnation, directory.image]).toEqual([2, 'image-2']);
    expect(run(world).created).toBe(false);
  });

  it('never gives an incarnation twice, whichever operation the power fails at', () => {
    let reached = 0;
    for (let at = 1; at < 40; at++) {
      for (let seed = 1; seed < 12; seed++) {
        const world = memoryWorld(at * 100 + seed);
        world.disk.before = ({ number }) => {
          if (number !== at) return;
          reached = Math.max(reached, at);
          world.disk.crash();
        };
        const seen = run(world);
        world.disk.before = undefined;
        world.turns.clear();
        world.disk.crash();
        const { error, directory } = open(world);
        const what = `operation ${at}, seed ${seed}`;
        if (error !== undefined) {
          expect([error.code, seen.created], what).toEqual(['ENOENT', false]);
          continue;
        }
        expect(directory.identity, what).toEqual(IDENTITY);
        expect(directory.incarnation, what).toBeGreaterThanOrEqual(seen.incarnation);
        if (seen.image !== undefined) expect(directory.image, what).toBe(seen.image);
        let next = 0;
        directory.nextIncarnation((_failure, incarnation) => {
          next = incarnation;
        });
        world.turns.drain();
        expect(next, what).toBeGreaterThan(seen.incarnation);
      }
    }
    expect(reached).toBeGreaterThan(25);
  });

  it('reports damage and a foreign owner instead of starting', () => {
    const world = memoryWorld();
    run(world);
    const { directory } = open(world);
    expect(directory.check({ member: 3, cluster: IDENTITY.cluster }, 'd')).toBeUndefined();
    const foreign = directory.check({ member: 4, cluster: IDENTITY.cluster }, 'd');
    expect(foreign?.code).toBe('DATA_DIRECTORY_MISMATCH');
    world.disk.flipBit('identity.json', 20, 3);
    expect(open(world).error?.code).toBe('EBADF');
  });

  it('lets one process in at a time', async () => {
    const { path, dispose } = await temporaryDirectory();
    const lock = (): Promise<(done: (error: FileError | undefined) => void) => void> =>
      new Promise((resolve, reject) => {
        lockDirectory(path, (error, release) => (error ? reject(error) : resolve(release)));
      });
    const release = await lock();
    await expect(lock()).rejects.toMatchObject({ code: 'EBUSY' });
    await new Promise<void>((resolve) => release(() => resolve()));
    const again = await lock();
    await new Promise<void>((resolve) => again(() => resolve()));
    await dispose();
  });
});
