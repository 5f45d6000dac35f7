#!/usr/bin/env node
import { LockstepError } from '@lockstep/model';
import { Command, Option as Flag, InvalidArgumentError } from 'commander';
import { DEFAULT_ADMIN, DEFAULT_REDIS } from './admin-client.ts';
import { DEMO_MEMBERS_MAX, runDemo } from './demo.ts';
import { exitCodeOf } from './exit-code.ts';
import { runLocked } from './lock.ts';
import { printLocks } from './locks.ts';
import { addMember, printMembers, promoteMember, removeMember, updateMember } from './member.ts';
import { changeOption, printOptions } from './option.ts';
import { accepted, formatAddress, parseAddress, parseDuration } from './option-value.ts';
import { OPTIONS, type Option, variableOf } from './options.ts';
import { recoverMember } from './recover.ts';
import { serve } from './serve.ts';
import { readConfigFile, resolveSettings } from './settings.ts';
import { printStatus } from './status.ts';
import { VERSION } from './version.ts';

const OPTIONS_FIRST = 'options come before the name: lockstep lock [options] NAME -- COMMAND';

/** A mistake of the person at the keyboard: one line, exit code 2. */
const EXIT_USAGE = 2;

const program = new Command('lockstep')
  .description('locks, leader election and configuration for etcd, ZooKeeper and Redis clients')
  .version(VERSION)
  .enablePositionalOptions()
  .showSuggestionAfterError()
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE));

const serving = program.command('serve').description('run one member');
for (const option of OPTIONS as readonly Option[]) {
  const otherwise = option.default === '' ? '' : `; default '${option.default}'`;
  const note = `${option.doc} (${accepted(option.type)}${otherwise})`;
  serving.option(`--${option.name} <value>`, `${note} [${variableOf(option)}]`);
}
serving.option('--config <file>', 'YAML file with the same option names [LOCKSTEP_CONFIG]');
serving.action((_: unknown, command: Command) => {
  const flags = new Map<string, string>();
  for (const option of command.options) {
    const value = command.getOptionValue(option.attributeName()) as string | undefined;
    if (value !== undefined) flags.set(option.name(), value);
  }
  const path = flags.get('config') ?? process.env.LOCKSTEP_CONFIG;
  const file = path === undefined ? {} : readConfigFile(path);
  flags.delete('config');
  return serve(resolveSettings(Object.fromEntries(flags), process.env, file));
});

program
  .command('demo')
  .description('run a whole cluster in this terminal')
  .option(
    '--members <n>',
    `how many, 1 to ${DEMO_MEMBERS_MAX}`,
    wholeNumber(1, DEMO_MEMBERS_MAX),
    3,
  )
  .option('--dir <dir>', 'keep the data here; default: a temporary directory')
  .action(({ members, dir }: { members: number; dir?: string }) => runDemo(members, dir));

program
  .command('recover')
  .description('after the loss of a majority: a stopped survivor becomes a cluster of its own')
  .requiredOption('--data-dir <dir>', 'of the stopped member')
  .option(
    '--advertise-peer <host:port>',
    'where later members reach it; default: its address before',
  )
  .option('--yes', 'do it without asking')
  .action((flags: { dataDir: string; advertisePeer?: string; yes?: true }) =>
    recoverMember({ ...flags, yes: flags.yes === true }),
  );

interface AdminFlags {
  readonly admin: string[];
  readonly json?: true;
}
const listOf = (text: string): string[] =>
  text.split(',').map((each) => formatAddress(addressOf(each.trim())));
const adminOption = new Flag('--admin <host:port,…>', 'members to ask, the first that answers')
  .argParser(listOf)
  .default(DEFAULT_ADMIN, DEFAULT_ADMIN.join(','));

program
  .command('status')
  .description('every member: role, term, applied index, state hash')
  .addOption(adminOption)
  .option('--json', 'for programs')
  .action(({ admin, json }: { admin: string[]; json?: true }) => printStatus(admin, json === true));

program
  .command('locks')
  .description('every lock of every door: name, holder, token, lease left, waiters')
  .addOption(adminOption)
  .option('--json', 'for programs')
  .action(({ admin, json }: { admin: string[]; json?: true }) => printLocks(admin, json === true));

program
  .command('option [name] [value]')
  .description('cluster options: lists them, shows one, or sets one for all members')
  .addOption(adminOption)
  .option('--json', 'for programs')
  .action((name: string | undefined, value: string | undefined, flags: AdminFlags) =>
    name === undefined || value === undefined
      ? printOptions(flags.admin, name, flags.json === true)
      : changeOption(flags.admin, name, value),
  );

const member = program
  .command('member')
  .description('the members of the cluster: list, add, promote, remove, update');
const MEMBER = 'name, id as listed, or peer address';

member
  .command('list')
  .description('every member: id, name, role, addresses')
  .addOption(adminOption)
  .option('--json', 'for programs')
  .action(({ admin, json }: AdminFlags) => printMembers(admin, json === true));

member
  .command('add <name>')
  .description('let a new member in, as learner; prints how to start it')
  .addOption(adminOption)
  .requiredOption('--peer <host:port>', 'where it will listen for the other members')
  .option('--voter', 'it gets its vote by itself, as soon as it has caught up')
  .action((name: string, { admin, peer, voter }: AdminFlags & { peer: string; voter?: true }) =>
    addMember(admin, name, peer, voter !== true),
  );

member
  .command('promote <member>')
  .description(`give a learner that has caught up its vote (${MEMBER})`)
  .addOption(adminOption)
  .action((which: string, { admin }: AdminFlags) => promoteMember(admin, which));

member
  .command('remove <member>')
  .description(`take a member out for good; it stops by itself (${MEMBER})`)
  .addOption(adminOption)
  .action((which: string, { admin }: AdminFlags) => removeMember(admin, which));

member
  .command('update <member>')
  .description(`tell the others where a member listens for them now (${MEMBER})`)
  .addOption(adminOption)
  .requiredOption('--peer <host:port>', 'its new peer address')
  .action((which: string, { admin, peer }: AdminFlags & { peer: string }) =>
    updateMember(admin, which, peer),
  );

program
  .command('lock <name> [command...]')
  .description(
    'take a lock, run a command with LOCKSTEP_TOKEN, release; exit code of the command. ' +
      'Options come before the name; without a command the lock is held until ctrl-c',
  )
  .passThroughOptions()
  .addOption(
    new Flag('--redis <host:port,…>', 'Redis doors, the first that answers is used')
      .argParser((text) => text.split(',').map((each) => addressOf(each.trim())))
      .default(DEFAULT_REDIS.map(addressOf), DEFAULT_REDIS.join(',')),
  )
  .option('--password <text>', 'for AUTH [LOCKSTEP_REDIS_PASSWORD]')
  .addOption(
    new Flag('--ttl <duration>', 'how long the lock outlives a silent holder; at least 100ms')
      .argParser(timeToLive)
      .default(10_000, '10s'),
  )
  .addOption(
    new Flag('--wait <duration>', 'how long to queue; 0: for ever')
      .argParser(durationOf)
      .default(0),
  )
  .option('--db <n>', 'Redis database', wholeNumber(0, 15), 0)
  .action(
    async (
      name: string,
      command: string[],
      flags: {
        redis: ReturnType<typeof addressOf>[];
        password?: string;
        ttl: number;
        wait: number;
        db: number;
      },
    ) => {
      // The separator is ours, whether or not it was needed.
      const words = command[0] === '--' ? command.slice(1) : command;
      if (words === command && command[0]?.startsWith('-')) {
        throw new LockstepError('INVALID_OPTION', 'lock', `'${command[0]}'`, OPTIONS_FIRST);
      }
      process.exitCode = await runLocked(name, words, {
        addresses: flags.redis,
        password: flags.password ?? process.env.LOCKSTEP_REDIS_PASSWORD ?? '',
        ttlMs: flags.ttl,
        waitMs: flags.wait,
        database: flags.db,
      });
    },
  );

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(accepted({ kind: 'integer', min, max }));
  };
}

function addressOf(text: string) {
  const address = parseAddress(text);
  if (address !== undefined) return address;
  throw new InvalidArgumentError(accepted({ kind: 'address' }));
}

function timeToLive(text: string): number {
  const ms = durationOf(text);
  if (ms >= 100) return ms;
  throw new InvalidArgumentError('accepts 100ms and more');
}

function durationOf(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError('accepts 500ms, 10s, 5m');
}

try {
  await program.parseAsync();
} catch (error) {
  const usage = error instanceof LockstepError && error.code === 'INVALID_OPTION';
  const next = error instanceof LockstepError && !usage ? `; ${error.hint}` : '';
  console.error(`lockstep: ${(error as Error).message}${next}`);
  // A member that could not open all its doors has others open already.
  process.exit(usage ? EXIT_USAGE : (exitCodeOf(error) ?? 1));
}
