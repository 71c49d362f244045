import { defineConfig } from 'vitest/config'

/**
 * Three layers, cheapest first. `unit` needs no VM; `vm` restores real ones through the agent's own modules;
 * `system` runs everything as `bin/up` starts it, each file a server of its own.
 * The two upper layers find their images in OFFSHOOT_IMAGES_DIR, which bin/test builds and names. All share two cores with
 * every VM that is started: what fails is tried once more, and named if it passes then. Tests that look for a loss are never tried again.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          retry: 1,
          // Those of tests/ need no VM: control and edge together, in this process.
          include: ['packages/*/src/**/*.test.ts', 'tests/joint/**/*.test.ts'],
          exclude: ['**/*.vm.test.ts'],
          globalSetup: ['packages/control/src/test/postgres-folder.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'vm',
          retry: 1,
          include: ['packages/*/src/**/*.vm.test.ts'],
          globalSetup: ['packages/agent/src/test/bakes-folder.ts'],
          pool: 'forks',
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'system',
          retry: 1,
          include: ['tests/**/*.test.ts'],
          exclude: ['tests/joint/**'],
          globalSetup: ['tests/setup/seed-folder.ts'],
          pool: 'forks',
          testTimeout: 180_000,
          hookTimeout: 240_000,
        },
      },
    ],
    maxWorkers: 2,
  },
})
