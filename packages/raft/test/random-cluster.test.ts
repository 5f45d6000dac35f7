import { describe, expect, test } from 'vitest';
import type { Configuration } from '../src/index.ts';
import { SeededRandom } from './random.ts';
import { Simulation } from './simulation.ts';

const SEEDS = Number(process.env.RAFT_SEEDS ?? 300);
/** As many run on a busy machine too, so that what is demanded below has had its chance. */
const SEEDS_MIN = 150;
const STEPS = Number(process.env.RAFT_STEPS ?? 2000);
const TIME_MS_MAX = Number(process.env.RAFT_TIME_MS ?? 5_000);

function configurationOf(voters: number[], learners: number[] = []): Configuration {
  return { voters, votersOutgoing: [], learners, learnersNext: [], autoLeave: false };
}

/** Kinds of trace events; without changes of configuration there are two fewer. */
const TRACED_STEPS = 13;

/** One random event; the weights keep a cluster alive most of the time. */
function disturb(world: Simulation, reconfiguring: boolean): void {
  const { random } = world;
  if (reconfiguring && random.chance(2)) {
    if (world.leader !== undefined) world.reconfigure(world.leader);
    return;
  }
  const member = random.pick(world.members);
  const dice = random.below(1000);
  if (dice < 300) world.tick(member);
  else if (dice < 620) {
    if (world.network.length === 0) return;
    const at = random.chance(70) ? 0 : random.below(world.network.length);
    const fate = random.below(100);
    if (fate < 8) world.network.splice(at, 1);
    else {
      if (fate < 14) world.network.push(world.network[at]!);
      world.deliver(at);
    }
  } else if (dice < 780) world.persist(member);
  else if (dice < 860) world.apply(member, 1 + random.below(4));
  else if (dice < 930) world.propose(world.leader ?? member);
  else if (dice < 950) world.read(member);
  else if (dice < 960) world.checkpoint(member, random.chance(50));
  else if (dice < 970) world.finishSnapshot(random.chance(40));
  else if (dice < 972 && !reconfiguring) world.damage(member);
  else if (dice < 974) world.partition();
  else if (dice < 978) {
    if (member.raft !== undefined) world.crash(member);
  } else if (dice < 982) {
    member.raft?.transferLeader(random.pick(world.members).id);
    world.process(member);
  } else if (dice < 986) {
    member.raft?.leaderLinkLost(3);
    world.process(member);
  } else if (dice < 990) {
    member.raft?.reportUnreachable(random.pick(world.members).id);
    world.process(member);
  } else if (member.raft === undefined) world.start(member);
}

function run(seed: number, reconfiguring: boolean): Simulation {
  const shape = new SeededRandom(seed ^ 0x5eed);
  const size = shape.pick([1, 2, 3, 3, 3, 4, 5]);
  const voters = Array.from({ length: size }, (_, at) => at + 1);
  const learners = shape.chance(30) ? [size + 1] : [];
  const configuration = configurationOf(voters, learners);
  const members = [...voters, ...learners];
  const priorities = shape.chance(30) ? { priorityOf: (id: number) => id % 3 } : {};
  const settings = shape.chance(30) ? { ...priorities, applyLagMax: 2 } : priorities;
  const traced = seed % 4 === 0;
  const world = new Simulation({ seed, configuration, members, settings, traced });
  for (let i = 0; i < STEPS; i++) disturb(world, reconfiguring);
  return world;
}

/** Liveness (reference §4.6): once all is well, one leader, a fresh commit, everybody equal. */
function expectRecovery(world: Simulation): void {
  world.heal();
  for (const member of world.members) if (member.raft === undefined) world.start(member);
  world.calm(150);
  for (let i = 0; i < 5 && world.leader !== undefined; i++) {
    world.propose(world.leader);
    world.calm(10);
  }
  const { leader } = world;
  expect(leader, 'a leader').toBeDefined();
  const before = world.oracle.commit;
  world.propose(leader!);
  world.calm(10);
  expect(world.oracle.commit).toBeGreaterThan(before);
  const { voters, votersOutgoing, learners } = leader!.configuration;
  const served = new Set([...voters, ...votersOutgoing, ...learners]);
  for (const member of world.members) {
    if (!served.has(member.id)) continue;
    expect(member.applied).toBe(world.oracle.commit);
    expect(member.configuration).toEqual(leader!.configuration);
    expect(member.raft?.leader).toBe(leader!.id);
    expect(member.reads.size, 'reads without an answer').toBe(0);
  }
}

/** Members are damaged only where the voters stay the same. */
function leastOf(key: string, reconfiguring: boolean): number {
  if (key === 'changes') return reconfiguring ? 50 : -1;
  return reconfiguring && (key === 'damages' || key === 'unanimous') ? -1 : 50;
}

/** Runs all seeds and demands that what is tested did happen. */
function runSeeds(reconfiguring: boolean): void {
  const began = performance.now();
  const total: Record<string, number> = { commits: 0 };
  const steps = new Set<string>();
  const only = process.env.RAFT_SEED;
  const first = only === undefined ? 1 : Number(only);
  const last = only === undefined ? SEEDS : first;
  for (let seed = first; seed <= last; seed++) {
    if (seed > SEEDS_MIN && performance.now() - began > TIME_MS_MAX) break;
    try {
      const world = run(seed, reconfiguring);
      expectRecovery(world);
      for (const step of world.traced) steps.add(step);
      total.commits = (total.commits ?? 0) + world.oracle.commit;
      for (const [key, count] of Object.entries(world.counts)) {
        total[key] = (total[key] ?? 0) + count;
      }
    } catch (error) {
      throw new Error(`RAFT_SEED=${seed}: ${(error as Error).message}`, { cause: error });
    }
  }
  if (process.env.RAFT_TIME_MS !== undefined) process.stdout.write(`${JSON.stringify(total)}\n`);
  if (only !== undefined) return;
  expect(steps.size, [...steps].join(' ')).toBe(reconfiguring ? TRACED_STEPS : TRACED_STEPS - 2);
  for (const [key, count] of Object.entries(total)) {
    expect(count, key).toBeGreaterThan(leastOf(key, reconfiguring));
  }
}

describe('a cluster under random faults', () => {
  test(
    'keeps every promise and recovers, from each seed',
    () => {
      runSeeds(false);
    },
    TIME_MS_MAX + 20_000,
  );

  test(
    'keeps every promise while its members change, from each seed',
    () => {
      runSeeds(true);
    },
    TIME_MS_MAX + 20_000,
  );
});
