import { existsSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Seconds of the slowest test files in a full run on two cores. Without data of earlier runs, Vitest sorts by file size. A slow file may then run
 * last, while one core is idle.
 */
const SECONDS: Readonly<Record<string, number>> = {
  'tests/apps.test.ts': 254,
  'tests/databases-restore.test.ts': 152,
  'packages/agent/src/sandbox/recovery/recover.vm.test.ts': 113,
  'packages/agent/src/sandbox/recovery/interrupted.vm.test.ts': 101,
  'packages/agent/src/sandbox/pool/pool.vm.test.ts': 97,
  'tests/suites/kill-everywhere.test.ts': 95,
  'tests/lsp.test.ts': 93,
  'tests/up.test.ts': 81,
  'tests/databases-clients.test.ts': 81,
  'tests/databases-kills.test.ts': 75,
  'tests/lifecycle.test.ts': 73,
  'tests/crash.test.ts': 69,
  'packages/agent/src/sandbox/builds/builds.vm.test.ts': 54,
  'packages/agent/src/store/ledger/unreadable-records.vm.test.ts': 41,
  'packages/agent/src/sandbox/snapshots/fork.vm.test.ts': 41,
  'tests/databases.test.ts': 40,
  'packages/agent/src/sandbox/builds/sandbox-templates.vm.test.ts': 40,
  'packages/agent/src/sandbox/builds/build-extremes.vm.test.ts': 38,
  'packages/agent/src/machine/capture/capture.vm.test.ts': 38,
  'packages/agent/src/sandbox/lifecycle/transitions.vm.test.ts': 37,
  'packages/agent/src/sandbox/lifecycle/qemu-upgrade.vm.test.ts': 37,
  'tests/suites/power-cut.test.ts': 36,
  'packages/agent/src/sandbox/lifecycle/hibernation.vm.test.ts': 36,
  'packages/agent/src/sandbox/builds/build-failures.vm.test.ts': 35,
  'packages/agent/src/machine/network/network-cleanup.vm.test.ts': 34,
  'packages/agent/src/sandbox/lifecycle/second-hibernation.vm.test.ts': 33,
  'packages/agent/src/sandbox/builds/build-kills.vm.test.ts': 33,
  'packages/agent/src/machine/network/guest-network.vm.test.ts': 33,
  'tests/suites/disk-full.test.ts': 29,
  'packages/agent/src/sandbox/volumes/volumes.vm.test.ts': 29,
  'tests/suites/races.test.ts': 28,
  'tests/preview-vite.test.ts': 27,
  'tests/files.test.ts': 27,
  'tests/exec-ws.test.ts': 26,
  'packages/agent/src/sandbox/volumes/volume-kills.vm.test.ts': 26,
  'packages/agent/src/sandbox/lifecycle/full-disk.vm.test.ts': 26,
  'tests/exec-stream.test.ts': 25,
  'packages/agent/src/sandbox/builds/build-full-disk.vm.test.ts': 25,
  'tests/suites/fork-correctness.test.ts': 24,
  'tests/templates.test.ts': 23,
  'tests/execs.test.ts': 23,
  'tests/suites/integrity.test.ts': 22,
  'tests/sandbox.test.ts': 22,
  'packages/agent/src/sandbox/start/limits.vm.test.ts': 22,
  'packages/agent/src/sandbox/lifecycle/sandbox.vm.test.ts': 22,
  'packages/agent/src/sandbox/lifecycle/discard.vm.test.ts': 22,
  'tests/preview.test.ts': 21,
  'packages/control/src/kinds/apps/instances/scaling.test.ts': 35,
  'packages/control/src/main.test.ts': 28,
  'packages/control/src/kinds/billing/credit.test.ts': 26,
  'packages/control/src/kinds/apps/dependency-cache/dependency-cache.test.ts': 25,
  'packages/control/src/kinds/sandboxes/reaper.test.ts': 22,
  'packages/control/src/kinds/apps/deploying/deploy-faults.test.ts': 19,
  'packages/control/src/fleet/truth.test.ts': 15,
  'packages/guest-link/src/guest-files.test.ts': 13,
  'packages/control/src/fleet/reconcile-brake.test.ts': 13,
  'packages/agent/src/http/get-events.test.ts': 13,
  'tests/in-process/app-certificates.test.ts': 12,
  'packages/guest-link/src/guest-watch.test.ts': 12,
  'packages/control/src/kinds/sandboxes/forks/forks.test.ts': 11,
  'packages/control/src/kinds/sandboxes/forks/fork-remains.test.ts': 11,
  'packages/control/src/kinds/orgs/identity/accounts.test.ts': 11,
  'packages/control/src/kinds/orgs/members.test.ts': 10,
}

/** Starts with the slowest files with VMs, then those without. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = Object.keys(SECONDS).filter((path) => !existsSync(path))
    if (gone.length > 0) throw new Error(`tests/setup/longest-first.ts names files that do not exist: ${gone.join()}`)
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => Number(isUnit(a)) - Number(isUnit(b)) || secondsOf(b) - secondsOf(a))
  }
}

/**
 * Unit tests run last and without a file of another project between them, because only then Vitest reuses their
 * workers.
 */
function isUnit({ project }: TestSpecification): boolean {
  return project.name === 'unit'
}

function secondsOf({ project, moduleId }: TestSpecification): number {
  return SECONDS[moduleId.slice(project.vitest.config.root.length + 1)] ?? 0
}
