import { describe, expect, it } from 'vitest';
import { formationOf, hex64 } from '../src/formation.ts';
import type { ClusterDescription } from '../src/introduction.ts';
import { formingRefusal, joiningFrom, standingRefusal } from '../src/joining.ts';
import { resolveSettings } from '../src/settings.ts';

const CLUSTER = '00000000000000cc';

const member = (id: number, name: string, dataDirectory = `of ${name}`) => ({
  ...{ id, name, dataDirectory, learner: false },
  peerAddress: `10.0.0.${id}:2380`,
});

/** A cluster of n1 and n2, with a place for a third. */
const description = (parts: Partial<ClusterDescription> = {}): ClusterDescription => ({
  ...{ cluster: CLUSTER, token: 'token', removed: [], voters: [1, 2] },
  members: [member(1, 'n1'), member(2, 'n2'), member(5, '', '')],
  ...parts,
});

const settingsOf = (name: string, cluster: string, state = 'existing') =>
  resolveSettings({ name, 'initial-cluster': cluster, 'initial-cluster-state': state }, {}, {});

describe('a member that joins', () => {
  const settings = settingsOf('new', 'n1=10.0.0.1:2380,new=10.0.0.5:2380');
  const join = (parts: Partial<ClusterDescription> = {}) =>
    joiningFrom(settings, formationOf(settings), description(parts));

  it('takes the id and the cluster of the place that was made at its peer address', () => {
    const formation = join();
    expect([formation.self.id, formation.self.name]).toEqual([5, 'new']);
    expect([hex64(formation.clusterId), formation.token]).toEqual([CLUSTER, 'token']);
    expect(formation.members.map(({ id, name }) => `${id} ${name}`)).toEqual([
      ...['1 n1', '2 n2', '5 new'],
    ]);
  });

  it('knows nothing of others that have not started yet', () => {
    const members = [...description().members, member(6, '', '')];
    expect(join({ members }).ids).toEqual([1, 2, 5]);
  });

  it('is told to be added, or that its place is taken', () => {
    const [first] = description().members;
    expect(() => join({ members: [first!] })).toThrow(/no member with the peer address 10.0.0.5/);
    expect(() => join({ members: [first!, member(5, 'new', 'another')] })).toThrow(
      /has run with another data directory/,
    );
    expect(() => join({ members: [first!, member(3, 'new'), member(5, '', '')] })).toThrow(
      /--name/,
    );
  });
});

describe('a new cluster', () => {
  const formation = formationOf(settingsOf('n2', 'n1=10.0.0.1:2380,n2=10.0.0.2:2380', 'new'));
  const cluster = hex64(formation.clusterId);
  const refusal = (...descriptions: ClusterDescription[]) =>
    formingRefusal(formation, descriptions)?.code;

  it('is formed when nobody answers, or the others form the same one', () => {
    expect(refusal()).toBeUndefined();
    const members = [member(1, 'n1', ''), member(2, 'n2', '')];
    expect(refusal(description({ cluster, members }))).toBeUndefined();
  });

  it('is not formed where there is one, by a member that was in it, or was removed', () => {
    expect(refusal(description())).toBe('CLUSTER_EXISTS');
    expect(refusal(description({ cluster }))).toBe('MEMBER_HAS_OTHER_DIRECTORY');
    const members = [member(1, 'n1')];
    expect(refusal(description({ cluster, members, removed: [2] }))).toBe('MEMBER_REMOVED');
  });
});

describe('a member that hears no leader', () => {
  const standing = (id: number, directory: string, removed: number[] = []) =>
    standingRefusal(description({ removed }), id, directory)?.code;

  it('stops only when another says that it is none any more', () => {
    expect(standing(2, 'of n2')).toBeUndefined();
    expect(standing(5, 'its own')).toBeUndefined();
    expect(standing(7, 'joined after that one looked')).toBeUndefined();
    expect(standing(2, 'another')).toBe('MEMBER_HAS_OTHER_DIRECTORY');
    expect(standing(3, 'any', [3])).toBe('MEMBER_REMOVED');
  });
});
