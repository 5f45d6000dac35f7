import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAddress, parseCluster, parseDuration } from '../src/option-value.ts';
import { readConfigFile, resolveSettings } from '../src/settings.ts';

const messageOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
};

describe('settings', () => {
  it('take a flag over a variable over the file over the default', () => {
    const file = { name: 'from-file', 'data-dir': '/file', 'log-level': 'warn' };
    const environment = { LOCKSTEP_NAME: 'from-variable', LOCKSTEP_DATA_DIR: '/variable' };
    const settings = resolveSettings({ name: 'from-flag' }, environment, file);
    expect(settings.name).toBe('from-flag');
    expect(settings['data-dir']).toBe('/variable');
    expect(settings['log-level']).toBe('warn');
    expect(settings['listen-redis']).toBe('127.0.0.1:6379');
  });

  it.each([
    [
      { 'election-timeout': '5ms' },
      "--election-timeout: '5ms' is not accepted; accepts 100ms to 60s, as 100ms or 1s",
    ],
    [
      { 'listen-etcd': '127.0.0.1:99999' },
      "--listen-etcd: '127.0.0.1:99999' is not accepted; " +
        "accepts host:port with port 0 to 65535, or 'none'",
    ],
    [
      { 'listen-peer': 'none' },
      "--listen-peer: 'none' is not accepted; accepts host:port with port 0 to 65535",
    ],
    [
      { 'initial-cluster-state': 'newish' },
      "--initial-cluster-state: 'newish' is not accepted; accepts new or existing",
    ],
    [
      { 'initial-cluster': 'n1=127.0.0.1:1,n1=127.0.0.1:2' },
      "--initial-cluster: 'n1=127.0.0.1:1,n1=127.0.0.1:2' is not accepted; " +
        'accepts name=host:port pairs separated by commas',
    ],
  ])('name flag, value and accepted range: %j', (flags, message) => {
    expect(messageOf(() => resolveSettings(flags, {}, {}))).toBe(message);
  });

  it('name the variable or the file when the value came from there', () => {
    expect(messageOf(() => resolveSettings({}, { LOCKSTEP_LOG_LEVEL: 'loud' }, {}))).toMatch(
      /^LOCKSTEP_LOG_LEVEL: 'loud' is not accepted/,
    );
    expect(messageOf(() => resolveSettings({}, {}, { 'listen-http': '1' }))).toBe(
      "configuration file: 'listen-http' is not accepted; no such option",
    );
  });
});

describe('timing', () => {
  it('asks for five heartbeats in an election timeout', () => {
    const slow = { 'heartbeat-interval': '1s' };
    expect(messageOf(() => resolveSettings(slow, {}, {}))).toBe(
      "--election-timeout: '1s' is not accepted; " +
        'accepts at least 5000ms with --heartbeat-interval 1s',
    );
    const both = { ...slow, 'election-timeout': '5s' };
    expect(messageOf(() => resolveSettings(both, {}, {}))).toBe('accepted');
  });
});

describe('option values', () => {
  it('read addresses as people and other tools write them', () => {
    expect(parseAddress('http://n1.example:2380')).toEqual({ host: 'n1.example', port: 2380 });
    expect(parseAddress('[::1]:2379')).toEqual({ host: '::1', port: 2379 });
    expect(parseAddress('localhost')).toBeUndefined();
    expect(parseCluster('n1=127.0.0.1:2380,n2=127.0.0.1:22380')?.get('n2')).toEqual({
      host: '127.0.0.1',
      port: 22380,
    });
  });

  it('read durations with and without unit', () => {
    expect(parseDuration('100')).toBe(100);
    expect(parseDuration('1.5s')).toBe(1500);
    expect(parseDuration('2m')).toBe(120_000);
    expect(parseDuration('soon')).toBeUndefined();
  });
});

describe('the configuration file', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'lockstep-test-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const read = (text: string): Record<string, string> => {
    const path = join(directory, 'lockstep.yaml');
    writeFileSync(path, text);
    return readConfigFile(path);
  };

  it('leaves a key without value at its default', () => {
    expect(read('redis-password:\nname: n2\n')).toEqual({ name: 'n2' });
  });

  it('refuses nested values by key', () => {
    const nested = 'initial-cluster:\n  n1: 127.0.0.1:2380\n';
    expect(messageOf(() => read(nested))).toMatch(/: initial-cluster: .*n1.* is not accepted/);
  });

  it('that is no YAML is named in one line', () => {
    const message = messageOf(() => read('name: [n1'));
    expect(message).toMatch(/^--config: .*lockstep\.yaml' is not accepted; .*line 1/);
    expect(message).not.toContain('\n');
  });
});
