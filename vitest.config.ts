import { defineConfig, type TestProjectConfiguration } from 'vitest/config'
import LongestFirst from './tests/setup/longest-first.ts'

/** Test files with VMs that run at the same time. They keep two CPUs busy. */
const maxWorkers = Number(process.env['OFFSHOOT_TEST_WORKERS'] ?? 3)
/** Unit tests wait for processes and timers a third of their time. */
const maxUnitWorkers = maxWorkers === 1 ? 1 : maxWorkers + 2
/** Vitest gives all projects of a group the same number of workers. */
const [withVms, withoutVms] = [{ groupOrder: 0 }, { groupOrder: 1 }]
/** Loading control takes one second of CPU. No file changes modules that another file loads. */
const isolate = false

/** Tests against the whole service with real VMs. */
const system = (name: string, include: string[], exclude: string[] = []): TestProjectConfiguration => ({
  test: {
    name,
    include,
    exclude,
    globalSetup: ['tests/setup/seed-folder.ts'],
    pool: 'forks',
    isolate,
    testTimeout: 240_000,
    hookTimeout: 360_000,
    maxWorkers,
    sequence: withVms,
  },
})

/**
 * Three layers:
 * - `unit` needs no VM.
 * - `vm` restores real VMs through the agent's own modules.
 * - `system` runs everything as `bin/up` starts it. Each file has a server to itself: its own, or one that files use in
 *   turn.
 *
 * A fourth project, `registries`, runs like `system`. Its tests install packages that the service itself does not need,
 * such as clients of other makers. They run by name: `bin/test registries`.
 *
 * Files run in the order of `longest-first.ts`.
 *
 * The upper two take their images from OFFSHOOT_IMAGES_DIR, which bin/test builds and sets. All tests share two cores
 * with their VMs.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          // The tests in tests/in-process need no VM: they run control and edge together in this process.
          include: ['packages/*/src/**/*.test.ts', 'deploy/**/*.test.ts', 'tests/in-process/**/*.test.ts'],
          exclude: ['**/*.vm.test.ts'],
          globalSetup: ['packages/control/src/test/postgres-folder.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          isolate,
          maxWorkers: maxUnitWorkers,
          sequence: withoutVms,
        },
      },
      {
        test: {
          name: 'vm',
          include: ['packages/*/src/**/*.vm.test.ts'],
          globalSetup: ['packages/agent/src/test/bakes-folder.ts'],
          pool: 'forks',
          isolate,
          // Longer than every wait inside a test, whose own failure message says more.
          testTimeout: 180_000,
          hookTimeout: 240_000,
          maxWorkers,
          sequence: withVms,
        },
      },
      system('system', ['tests/**/*.test.ts'], ['tests/in-process/**', 'tests/registries/**']),
      system('registries', ['tests/registries/*.test.ts']),
    ],
    sequence: { sequencer: LongestFirst },
    tags: [
      { name: 'faults', description: 'series of faults: left out by bin/test, but not by bin/test --merge and --all' },
      { name: 'long', description: 'left out by bin/test and bin/test --merge, but not by bin/test --all' },
      { name: 'only-once', description: 'looks for lost data or double work: fails the whole run if it fails once' },
    ],
  },
})
