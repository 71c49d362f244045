import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Seconds of the test files that take longest. Where nothing is known of earlier runs Vitest goes by the size of files, and the last
 * one may be long: one core then waits for it.
 */
const SECONDS: Readonly<Record<string, number>> = {
  'tests/apps.test.ts': 270,
  'tests/lsp.test.ts': 155,
  'tests/databases-restore.test.ts': 145,
  'packages/agent/src/sandbox/recovery/recover.vm.test.ts': 140,
  'tests/up.test.ts': 109,
  'tests/lifecycle.test.ts': 90,
  'tests/crash.test.ts': 85,
  'packages/agent/src/sandbox/pool/pool.vm.test.ts': 77,
  'tests/suites/kill-everywhere.test.ts': 70,
  'tests/databases-clients.test.ts': 69,
  'tests/databases-kills.test.ts': 65,
  'packages/agent/src/sandbox/recovery/interrupted.vm.test.ts': 62,
  'packages/agent/src/sandbox/builds/builds.vm.test.ts': 30,
  'packages/control/src/billing/credit.test.ts': 27,
  'packages/agent/src/sandbox/builds/build-kills.vm.test.ts': 26,
  'packages/control/src/scaling/scaling.test.ts': 24,
  'tests/suites/integrity.test.ts': 23,
  'packages/control/src/trees/trees.test.ts': 22,
  'packages/control/src/reaping/reaper.test.ts': 19,
  'packages/control/src/deploying/deploy-faults.test.ts': 18,
}

/** Begins with what takes longest, within what may run at the same time. */
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
