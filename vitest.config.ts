import { defineConfig } from 'vitest/config'
import LongestFirst from './tests/setup/longest-first.ts'

/** Of tests with VMs. With two workers a fifth of two processors was idle: they wait for what they kill to come back. */
const SHARED_WORKERS = Number(process.env['OFFSHOOT_TEST_WORKERS'] ?? 3)

/**
 * Three layers, cheapest first. `unit` needs no VM; `vm` restores real ones through the agent's own modules;
 * `system` runs everything as `bin/up` starts it, each file alone on a server: its own, or one that files use one after the other.
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
          // Loading control takes a second of a core. No file changes what another one loads.
          isolate: false,
          // They wait for each other's clocks more than they compute: with two of them a third of the processors was idle.
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'vm',
          retry: 1,
          include: ['packages/*/src/**/*.vm.test.ts'],
          globalSetup: ['packages/agent/src/test/bakes-folder.ts'],
          pool: 'forks',
          // Longer than whatever is waited for inside: that failure says more.
          testTimeout: 180_000,
          hookTimeout: 240_000,
          maxWorkers: SHARED_WORKERS,
          sequence: { groupOrder: 1 },
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
          testTimeout: 240_000,
          hookTimeout: 360_000,
          maxWorkers: SHARED_WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    sequence: { sequencer: LongestFirst },
  },
})
