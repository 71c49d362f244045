import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Seconds of the slowest test files. Without data of earlier runs, Vitest sorts by file size. A slow file may then run
 * last, while one core is idle.
 */
const SECONDS: Readonly<Record<string, number>> = {
  'tests/apps.test.ts': 190,
  'packages/agent/src/sandbox/recovery/recover.vm.test.ts': 110,
  'tests/databases-restore.test.ts': 110,
  'tests/lsp.test.ts': 75,
  'tests/lifecycle.test.ts': 65,
  'tests/up.test.ts': 65,
  'packages/agent/src/sandbox/pool/pool.vm.test.ts': 60,
  'tests/crash.test.ts': 58,
  'packages/agent/src/sandbox/recovery/interrupted.vm.test.ts': 57,
  'tests/databases-kills.test.ts': 55,
  'tests/databases-clients.test.ts': 50,
  'packages/agent/src/sandbox/builds/builds.vm.test.ts': 45,
  'packages/agent/src/machine/network/network-cleanup.vm.test.ts': 43,
  'packages/agent/src/machine/capture/capture.vm.test.ts': 41,
  'tests/suites/kill-everywhere.test.ts': 40,
  'tests/suites/power-cut.test.ts': 40,
  'tests/databases.test.ts': 40,
  'tests/suites/no-room.test.ts': 38,
  'packages/agent/src/machine/network/guest-network.vm.test.ts': 37,
  'packages/agent/src/sandbox/builds/build-extremes.vm.test.ts': 36,
  'packages/agent/src/sandbox/builds/build-failures.vm.test.ts': 35,
  'packages/agent/src/sandbox/builds/sandbox-templates.vm.test.ts': 35,
  'tests/files.test.ts': 35,
  'tests/templates.test.ts': 35,
  'packages/agent/src/store/ledger/unreadable-records.vm.test.ts': 34,
  'packages/control/src/main.test.ts': 28,
  'packages/control/src/billing/credit.test.ts': 27,
  'packages/control/src/scaling/scaling.test.ts': 24,
  'packages/control/src/trees/trees.test.ts': 22,
  'packages/guest-link/src/guest-watch.test.ts': 21,
  'packages/control/src/reaping/reaper.test.ts': 19,
  'packages/control/src/deploying/deploy-faults.test.ts': 18,
  'packages/guest-link/src/guest-files.test.ts': 16,
  'packages/control/src/agents/truth.test.ts': 15,
  'packages/agent/src/http/get-events.test.ts': 14,
}

/** Starts with the slowest files of each group. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => groupOf(a) - groupOf(b) || secondsOf(b) - secondsOf(a))
  }
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder
}

function secondsOf({ project, moduleId }: TestSpecification): number {
  return SECONDS[moduleId.slice(project.vitest.config.root.length + 1)] ?? 0
}
