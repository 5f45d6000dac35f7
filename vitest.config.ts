import { defineConfig } from 'vitest/config';

// Tests import the packages' TypeScript directly: the condition picks `src` over `dist`.
const resolve = { conditions: ['@lockstep/source', 'node', 'import', 'default'] };
const ssr = { resolve: { conditions: ['@lockstep/source', 'node', 'import', 'default'] } };

/** Tests that start servers and time leases: one file at a time. */
const processes = {
  pool: 'forks',
  maxWorkers: 1,
  testTimeout: 60_000,
  hookTimeout: 60_000,
} as const;

const report = process.env.LOCKSTEP_TEST_REPORT;

export default defineConfig({
  test: {
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    projects: [
      {
        resolve,
        ssr,
        test: {
          name: 'unit',
          include: [
            'packages/*/test/**/*.test.ts',
            'tools/checker/test/**/*.test.ts',
            'tools/mutants/test/**/*.test.ts',
            'tools/tidy/test/**/*.test.ts',
          ],
          exclude: ['**/dist/**', '**/node_modules/**'],
          pool: 'threads',
          // Far beyond what any of them takes alone; two busy cores must not fail one.
          testTimeout: 30_000,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: 'simulation',
          include: ['tools/simulator/test/**/*.test.ts'],
          exclude: ['**/dist/**', '**/node_modules/**'],
          pool: 'threads',
          testTimeout: 180_000,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: 'system',
          include: ['test/**/*.test.ts', 'apps/*/test/**/*.test.ts'],
          exclude: ['**/dist/**', '**/node_modules/**', 'test/interop/**'],
          ...processes,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: 'interop',
          include: ['test/interop/**/*.test.ts'],
          exclude: ['**/dist/**', '**/node_modules/**'],
          globalSetup: ['test/support/interop-cluster.ts'],
          ...processes,
        },
      },
    ],
  },
});
