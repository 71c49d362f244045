import { existsSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Seconds of the slowest test files in a full run on two cores. Without data of earlier runs, Vitest sorts by file
 * size. A slow file may then run last, while one core is idle.
 */
const SECONDS: Readonly<Record<string, number>> = {
  'tests/apps.test.ts': 173,
  'tests/docs.test.ts': 40,
  'tests/console-workspace.test.ts': 94,
  'tests/console-apps.test.ts': 70,
  'tests/console-resources.test.ts': 49,
  'tests/console-sandbox.test.ts': 43,
  'tests/databases-restore.test.ts': 89,
  'tests/registries/e2b-frameworks.test.ts': 60,
  'packages/agent/src/sandbox/recovery/recover.vm.test.ts': 58,
  'packages/agent/src/sandbox/recovery/interrupted.vm.test.ts': 36,
  'packages/agent/src/sandbox/pool/pool.vm.test.ts': 51,
  'tests/suites/kill-everywhere.test.ts': 54,
  'tests/lsp.test.ts': 43,
  'tests/up.test.ts': 42,
  'tests/databases-clients.test.ts': 14,
  'tests/databases-kills.test.ts': 40,
  'tests/lifecycle.test.ts': 67,
  'tests/crash.test.ts': 39,
  'packages/agent/src/sandbox/builds/builds.vm.test.ts': 65,
  'packages/agent/src/store/ledger/unreadable-records.vm.test.ts': 28,
  'packages/agent/src/sandbox/snapshots/fork.vm.test.ts': 37,
  'tests/databases.test.ts': 32,
  'tests/sdk-nouns.test.ts': 120,
  'tests/cli-nouns.test.ts': 45,
  'packages/agent/src/sandbox/builds/sandbox-templates.vm.test.ts': 38,
  'packages/agent/src/sandbox/builds/build-extremes.vm.test.ts': 32,
  'packages/agent/src/machine/capture/capture.vm.test.ts': 18,
  'packages/agent/src/sandbox/lifecycle/transitions.vm.test.ts': 25,
  'packages/agent/src/sandbox/lifecycle/qemu-upgrade.vm.test.ts': 16,
  'tests/suites/power-cut.test.ts': 24,
  'packages/agent/src/sandbox/lifecycle/hibernation.vm.test.ts': 33,
  'packages/agent/src/sandbox/builds/build-failures.vm.test.ts': 29,
  'packages/agent/src/machine/network/network-cleanup.vm.test.ts': 22,
  'packages/agent/src/sandbox/lifecycle/second-hibernation.vm.test.ts': 35,
  'packages/agent/src/sandbox/builds/build-kills.vm.test.ts': 17,
  'packages/agent/src/machine/network/guest-network.vm.test.ts': 30,
  'tests/suites/disk-full.test.ts': 25,
  'packages/agent/src/sandbox/volumes/volumes.vm.test.ts': 24,
  'tests/suites/races.test.ts': 17,
  'tests/preview-vite.test.ts': 3,
  'tests/files.test.ts': 19,
  'tests/exec-ws.test.ts': 22,
  'packages/agent/src/sandbox/volumes/volume-kills.vm.test.ts': 19,
  'packages/agent/src/sandbox/lifecycle/full-disk.vm.test.ts': 12,
  'tests/exec-stream.test.ts': 20,
  'packages/agent/src/sandbox/builds/build-full-disk.vm.test.ts': 18,
  'tests/suites/fork-correctness.test.ts': 14,
  'tests/templates.test.ts': 28,
  'tests/execs.test.ts': 12,
  'tests/suites/integrity.test.ts': 14,
  'tests/sandbox.test.ts': 25,
  'packages/agent/src/sandbox/start/limits.vm.test.ts': 19,
  'packages/agent/src/sandbox/lifecycle/sandbox.vm.test.ts': 17,
  'packages/agent/src/sandbox/lifecycle/discard.vm.test.ts': 23,
  'tests/preview.test.ts': 18,
  'packages/control/src/kinds/apps/instances/scaling.test.ts': 29,
  'packages/control/src/main.test.ts': 14,
  'packages/control/src/kinds/billing/credit.test.ts': 61,
  'packages/control/src/kinds/apps/dependency-cache/dependency-cache.test.ts': 15,
  'packages/control/src/kinds/sandboxes/reaper.test.ts': 16,
  'packages/control/src/kinds/apps/deploying/deploy-faults.test.ts': 18,
  'packages/control/src/fleet/truth.test.ts': 11,
  'packages/guest-link/src/guest-files.test.ts': 5,
  'packages/control/src/fleet/reconcile-brake.test.ts': 11,
  'packages/agent/src/http/get-events.test.ts': 12,
  'tests/in-process/app-certificates.test.ts': 7,
  'packages/guest-link/src/guest-watch.test.ts': 4,
  'packages/control/src/kinds/sandboxes/forks/forks.test.ts': 2,
  'packages/control/src/kinds/sandboxes/forks/fork-remains.test.ts': 1,
  'packages/control/src/kinds/orgs/identity/accounts.test.ts': 8,
  'packages/control/src/kinds/orgs/members.test.ts': 2,
  'tests/exec-crash.test.ts': 22,
  'tests/snapshots.test.ts': 16,
  'tests/terminal.test.ts': 16,
  'tests/volumes.test.ts': 16,
  'tests/exec.test.ts': 14,
  'tests/terminal-programs.test.ts': 14,
  'tests/events.test.ts': 13,
  'tests/fuzz.test.ts': 13,
  'tests/fork.test.ts': 12,
  'tests/logs.test.ts': 12,
  'tests/events-reconnect.test.ts': 11,
  'packages/agent/src/sandbox/lifecycle/jail.vm.test.ts': 13,
  'packages/control/src/platform/jobs/jobs.test.ts': 27,
  'packages/control/src/kinds/orgs/identity/tokens.test.ts': 11,
}

/** The projects in the order in which they run. Vitest reuses a worker only for the next file of the same project. */
const PROJECTS = ['registries', 'system', 'vm', 'unit']

/** Within each project, the slowest files run first. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = Object.keys(SECONDS).filter((path) => !existsSync(path))
    if (gone.length > 0) throw new Error(`tests/setup/longest-first.ts names files that do not exist: ${gone.join()}`)
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => orderOf(a) - orderOf(b) || secondsOf(b) - secondsOf(a))
  }
}

function orderOf({ project }: TestSpecification): number {
  return PROJECTS.indexOf(project.name)
}

function secondsOf({ project, moduleId }: TestSpecification): number {
  return SECONDS[moduleId.slice(project.vitest.config.root.length + 1)] ?? 0
}
