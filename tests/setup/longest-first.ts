import { existsSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Seconds of the slowest test files in a full run on two cores. Without data of earlier runs, Vitest sorts by file
 * size. A slow file may then run last, while one core is idle.
 */
const SECONDS: Readonly<Record<string, number>> = {
  'tests/code.test.ts': 284,
  'tests/apps.test.ts': 227,
  'tests/sdk-nouns.test.ts': 214,
  'tests/databases-restore.test.ts': 180,
  'tests/lifecycle.test.ts': 91,
  'tests/databases.test.ts': 91,
  'tests/databases-kills.test.ts': 90,
  'tests/cli-nouns.test.ts': 86,
  'tests/console-resources.test.ts': 84,
  'tests/rootless.test.ts': 75,
  'tests/databases-objects.test.ts': 73,
  'tests/console-sandbox.test.ts': 68,
  'tests/console-apps.test.ts': 68,
  'packages/control/src/kinds/billing/credit.test.ts': 66,
  'tests/console-workspace.test.ts': 65,
  'tests/up.test.ts': 65,
  'packages/agent/src/sandbox/pool/zygotes.vm.test.ts': 62,
  'tests/crash.test.ts': 61,
  'tests/docs.test.ts': 61,
  'tests/registries/e2b-frameworks.test.ts': 60,
  'packages/agent/src/sandbox/recovery/recover.vm.test.ts': 55,
  'packages/agent/src/sandbox/builds/builds.vm.test.ts': 53,
  'tests/in-process/backup.test.ts': 50,
  'packages/control/src/kinds/sandboxes/moves/move-failures.test.ts': 48,
  'tests/join.test.ts': 48,
  'packages/agent/src/sandbox/moves/moves.vm.test.ts': 46,
  'packages/agent/src/sandbox/pool/pool.vm.test.ts': 44,
  'packages/control/src/kinds/apps/deploying/deploy-faults.test.ts': 43,
  'packages/control/src/kinds/apps/instances/scaling.test.ts': 40,
  'tests/backup.test.ts': 40,
  'tests/files.test.ts': 39,
  'tests/suites/kill-everywhere.test.ts': 38,
  'packages/agent/src/sandbox/builds/build-extremes.vm.test.ts': 37,
  'packages/agent/src/sandbox/lifecycle/second-hibernation.vm.test.ts': 37,
  'packages/agent/src/sandbox/lifecycle/qemu-upgrade.vm.test.ts': 36,
  'packages/control/src/platform/jobs/jobs.test.ts': 36,
  'tests/templates.test.ts': 36,
  'packages/agent/src/sandbox/builds/sandbox-templates.vm.test.ts': 35,
  'tests/databases-clients.test.ts': 35,
  'packages/control/src/kinds/sandboxes/reaper.test.ts': 34,
  'packages/agent/src/sandbox/recovery/interrupted.vm.test.ts': 34,
  'packages/agent/src/sandbox/builds/build-full-disk.vm.test.ts': 34,
  'tests/suites/disk-full.test.ts': 34,
  'packages/agent/src/sandbox/lifecycle/hibernation.vm.test.ts': 33,
  'packages/agent/src/sandbox/builds/build-failures.vm.test.ts': 33,
  'packages/agent/src/sandbox/lifecycle/transitions.vm.test.ts': 32,
  'packages/agent/src/machine/network/guest-network.vm.test.ts': 31,
  'packages/control/src/fleet/truth.test.ts': 31,
  'tests/public-tls.test.ts': 31,
  'tests/suites/fleet/short.test.ts': 31,
  'tests/exec-stream.test.ts': 31,
  'tests/suites/power-cut.test.ts': 30,
  'tests/preview-vite.test.ts': 30,
  'packages/agent/src/machine/capture/capture.vm.test.ts': 29,
  'tests/ssh.test.ts': 28,
  'packages/guest-link/src/guest-files.test.ts': 28,
  'tests/console-session.test.ts': 28,
  'packages/agent/src/sandbox/builds/build-kills.vm.test.ts': 28,
  'packages/agent/src/sandbox/snapshots/fork.vm.test.ts': 27,
  'packages/agent/src/sandbox/lifecycle/discard.vm.test.ts': 27,
  'tests/install.test.ts': 26,
  'packages/agent/src/sandbox/volumes/volume-kills.vm.test.ts': 26,
  'tests/sandbox.test.ts': 26,
  'tests/suites/integrity.test.ts': 25,
  'packages/agent/src/store/ledger/unreadable-records.vm.test.ts': 25,
  'tests/lsp.test.ts': 25,
  'tests/in-process/app-certificates.test.ts': 24,
  'packages/agent/src/sandbox/lifecycle/full-disk.vm.test.ts': 24,
  'packages/control/src/kinds/apps/dependency-cache/dependency-cache.test.ts': 24,
  'packages/agent/src/machine/network/network-cleanup.vm.test.ts': 24,
  'packages/control/src/kinds/sandboxes/moves/drain.test.ts': 23,
  'packages/agent/src/sandbox/lifecycle/sandbox.vm.test.ts': 23,
  'packages/agent/src/http/get-events.test.ts': 23,
  'tests/file-users.test.ts': 22,
  'tests/cli.test.ts': 22,
  'tests/exec-ws.test.ts': 22,
  'packages/guest-link/src/guest-protocol.test.ts': 21,
  'tests/suites/races.test.ts': 21,
  'packages/control/src/main.test.ts': 21,
  'packages/agent/src/sandbox/start/limits.vm.test.ts': 21,
  'tests/exec-crash.test.ts': 21,
  'packages/guest-link/src/guest-file-tree.test.ts': 21,
  'tests/console-conditions.test.ts': 20,
  'tests/preview.test.ts': 20,
  'packages/control/src/kinds/sandboxes/lifecycle/on-timeout.test.ts': 20,
  'tests/fuzz.test.ts': 20,
  'tests/cli-copies.test.ts': 19,
  'tests/exec.test.ts': 19,
  'tests/console-lineage.test.ts': 19,
  'packages/agent/src/store/events/segments.test.ts': 19,
  'tests/suites/fork-correctness.test.ts': 19,
  'packages/guest-link/src/guest-watch.test.ts': 19,
  'tests/terminal.test.ts': 19,
  'packages/agent/src/sandbox/volumes/volumes.vm.test.ts': 18,
  'tests/terminal-programs.test.ts': 18,
  'tests/console-changes.test.ts': 18,
  'packages/control/src/fleet/reconcile-brake.test.ts': 18,
  'packages/control/src/platform/db/database-outage.test.ts': 18,
  'tests/logs.test.ts': 17,
  'tests/execs.test.ts': 17,
  'tests/secrets.test.ts': 17,
  'packages/agent/src/machine/host/slot-claims.test.ts': 17,
  'packages/control/src/platform/db/pooler.test.ts': 16,
  'packages/control/src/kinds/orgs/identity/second-factors.test.ts': 16,
  'packages/control/src/kinds/sandboxes/moves/removed-source.test.ts': 16,
  'packages/control/src/kinds/orgs/identity/accounts.test.ts': 16,
  'packages/control/src/kinds/orgs/operators/stolen-host-key.test.ts': 15,
  'tests/events.test.ts': 15,
  'tests/snapshots.test.ts': 15,
  'tests/support-bundle.test.ts': 15,
  'tests/sdk-explore.test.ts': 15,
  'tests/console-screenshots.test.ts': 15,
  'packages/control/src/kinds/orgs/identity/tokens.test.ts': 14,
  'packages/control/src/platform/http/required-fields.test.ts': 14,
  'tests/volumes.test.ts': 13,
  'tests/preview-private.test.ts': 13,
  'packages/agent/src/store/checkpoints/checkpoints.test.ts': 13,
  'packages/control/src/fleet/proxy/upload.test.ts': 13,
  'tests/in-process/private-previews.test.ts': 13,
  'packages/agent/src/sandbox/recovery/earlier-data-dir.vm.test.ts': 12,
  'packages/control/src/platform/http/lists.test.ts': 12,
  'packages/control/src/platform/http/tenant-wall.test.ts': 12,
  'packages/control/src/kinds/databases/broker/broker.test.ts': 12,
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
