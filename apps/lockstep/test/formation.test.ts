import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMemberData } from '../src/data.ts';
import { formationOf, hex64, overruledFlags } from '../src/formation.ts';
import { resolveSettings } from '../src/settings.ts';

const settingsOf = (flags: Record<string, string>) => resolveSettings(flags, {}, {});

describe('the formation of a cluster', () => {
  it.each([
    [{ 'listen-peer': '0.0.0.0:2380' }],
    [{ 'listen-peer': '[::]:2380' }],
    [{ 'advertise-peer': '0.0.0.0:2380' }],
    [{ 'initial-cluster': 'n1=0.0.0.0:2380' }],
  ])('never publishes an address that is nowhere: %j', (flags) => {
    expect(() => formationOf(settingsOf(flags))).toThrow(/is not accepted; .*--advertise-peer/);
  });

  it('takes the advertised address of a member that listens everywhere', () => {
    const flags = { 'listen-peer': '0.0.0.0:2380', 'advertise-peer': 'n1.example:2380' };
    expect(formationOf(settingsOf(flags)).self.peerAddress).toBe('n1.example:2380');
  });
});

describe('an existing data directory', () => {
  let path: string;
  beforeAll(() => {
    path = mkdtempSync(join(tmpdir(), 'lockstep-test-'));
  });
  afterAll(() => rmSync(path, { recursive: true, force: true }));

  const open = async (flags: Record<string, string> = {}) => {
    const settings = settingsOf({ 'data-dir': path, ...flags });
    const data = await openMemberData(settings, () => {});
    await data.release();
    return { ...data, warnings: overruledFlags(settings, data.formation) };
  };

  it('keeps its identity when it is started with other flags, and says which', async () => {
    const first = await open();
    expect(first.warnings).toEqual([]);
    const moved = await open({ 'listen-peer': '127.0.0.1:9999', 'initial-cluster-token': 'other' });
    expect(moved.formation).toEqual(first.formation);
    expect(moved.incarnation).toBe(first.incarnation + 1);
    expect(moved.warnings).toEqual([
      '--listen-peer is 127.0.0.1:9999, but the cluster knows this member at 127.0.0.1:2380',
      "--initial-cluster-token is not that of the data directory, 'lockstep-cluster'",
    ]);
    expect((await open({ 'listen-peer': '0.0.0.0:2380' })).warnings).toEqual([]);
    expect(moved.directory.identity.cluster).toBe(hex64(first.formation.clusterId));
  });

  it('is refused to a member of another name or cluster', async () => {
    await open();
    await expect(open({ name: 'n2' })).rejects.toMatchObject({ code: 'DATA_DIRECTORY_MISMATCH' });
    const initial = { 'initial-cluster': 'n1=127.0.0.1:9999' };
    await expect(open(initial)).rejects.toMatchObject({ code: 'DATA_DIRECTORY_MISMATCH' });
    const same = { 'initial-cluster': 'n1=127.0.0.1:2380' };
    expect((await open(same)).formation).toEqual((await open()).formation);
  });
});
