import { defineConfig } from 'vitest/config'
import LongestFirst from './tests/setup/longest-first.ts'

/**
 * Test files that run at the same time. All projects have the same number, so that Vitest runs them in one group: no
 * CPU is idle at the end of one project while the next one waits.
 */
const maxWorkers = Number(process.env['OFFSHOOT_TEST_WORKERS'] ?? 3)
const sequence = { groupOrder: 0 }

/**
 * Three layers:
 * - `unit` needs no VM.
 * - `vm` restores real VMs through the agent's own modules.
 * - `system` runs everything as `bin/up` starts it. Each file has a server to itself: its own, or one that files use in
 *   turn.
 *
 * Files with VMs start first, because they are long. Short unit tests fill the CPUs at the end (`longest-first.ts`).
 *
 * The upper two take their images from OFFSHOOT_IMAGES_DIR, which bin/test builds and sets. All tests share two cores
 * with their VMs. A failed test is therefore retried once, and reported if it passes then. Tests that look for data
 * loss are never retried.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          retry: 1,
          // The tests in tests/in-process need no VM: they run control and edge together in this process.
          include: ['packages/*/src/**/*.test.ts', 'tests/in-process/**/*.test.ts'],
          exclude: ['**/*.vm.test.ts'],
          globalSetup: ['packages/control/src/test/postgres-folder.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Loading control takes one second of CPU. No file changes modules that another file loads.
          isolate: false,
          maxWorkers,
          sequence,
        },
      },
      {
        test: {
          name: 'vm',
          retry: 1,
          include: ['packages/*/src/**/*.vm.test.ts'],
          globalSetup: ['packages/agent/src/test/bakes-folder.ts'],
          pool: 'forks',
          // Longer than every wait inside a test, whose own failure message says more.
          testTimeout: 180_000,
          hookTimeout: 240_000,
          maxWorkers,
          sequence,
        },
      },
      {
        test: {
          name: 'system',
          retry: 1,
          include: ['tests/**/*.test.ts'],
          exclude: ['tests/in-process/**'],
          globalSetup: ['tests/setup/seed-folder.ts'],
          pool: 'forks',
          testTimeout: 240_000,
          hookTimeout: 360_000,
          maxWorkers,
          sequence,
        },
      },
    ],
    sequence: { sequencer: LongestFirst },
  },
})
