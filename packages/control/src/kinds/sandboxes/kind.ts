import { releaseSandbox } from './release-sandbox.ts'
import { statusOnAgents } from '../../fleet/get-status.ts'
import type { Kind } from '../../fleet/kind.ts'
import { countCopies, removeOldCopies } from '../../fleet/copy-statements.ts'
import { countArtifactCopies, removeOldArtifactCopies } from '../../fleet/artifact-copy-statements.ts'
import { removeOldArtifactMoves } from '../../fleet/artifact-move-statements.ts'
import { countMoves, removeOldMoves } from '../../fleet/move-statements.ts'
import { registerProxy } from '../../fleet/proxy/proxy.ts'
import { addStatusGauge } from '../../platform/http/metrics.ts'
import { type Lane, lane } from '../../platform/jobs/task.ts'
import { copyArtifacts, planArtifactCopies } from './artifacts/copy-artifacts.ts'
import { moveArtifacts } from './artifacts/move-artifacts.ts'
import { copySandboxes } from './copies/copy-sandboxes.ts'
import { deleteStreams } from './copies/delete-streams.ts'
import { planCopies } from './copies/plan-copies.ts'
import { deleteSandbox } from './delete-sandbox.ts'
import { emptiedOrgs } from './deleted-orgs.ts'
import { getEvents } from './events/get-events.ts'
import { expiredSandboxes } from './expired-sandboxes.ts'
import { postFork } from './forks/post-fork.ts'
import { postForkTree } from './forks/post-fork-tree.ts'
import { postPromote } from './forks/post-promote.ts'
import { getSandbox } from './get-sandbox.ts'
import { getSandboxes } from './get-sandboxes.ts'
import { lifecycleRoutes } from './lifecycle/lifecycle-routes.ts'
import { hibernateTimedOut } from './lifecycle/hibernate-timed-out.ts'
import { resendLifecycles } from './lifecycle/resend-lifecycles.ts'
import { transitionRoutes } from './lifecycle/transition-routes.ts'
import { getLineage } from './lineage/get-lineage.ts'
import { removeOldLineage } from './lineage/lineage-statements.ts'
import { getLanguages } from './lsp/get-languages.ts'
import { removeOldLinks } from './links/link-statements.ts'
import { drainHosts } from './moves/drain-hosts.ts'
import { recoverLost } from './moves/recover-lost.ts'
import { moveSandboxes } from './moves/move-sandboxes.ts'
import { portLinkRoutes } from './links/port-link-routes.ts'
import { deletePorts } from './ports/delete-ports.ts'
import { getPorts } from './ports/get-ports.ts'
import { postPorts } from './ports/post-ports.ts'
import { patchSandbox } from './patch-sandbox.ts'
import { postExec } from './post-exec.ts'
import { postSandboxes } from './post-sandboxes.ts'
import { proxiedRoutes } from './proxied-routes.ts'
import { countByStatus } from './model/sandbox-statements.ts'
import type { SandboxesContext } from './model/sandboxes-context.ts'
import { deleteSnapshot } from './snapshots/delete-snapshot.ts'
import { getSnapshot } from './snapshots/get-snapshot.ts'
import { getSnapshots } from './snapshots/get-snapshots.ts'
import { postSnapshots } from './snapshots/post-snapshots.ts'
import { reconcileSnapshots } from './snapshots/reconcile-snapshots.ts'
import { unusedSnapshots } from './snapshots/unused-snapshots.ts'

/** Sandboxes: their lifecycle, forks, snapshots, ports and events, and the commands and files inside them. */
export const sandboxes: Kind<SandboxesContext> = {
  name: 'sandboxes',
  async routes(app, control) {
    postSandboxes(app, control)
    getSandboxes(app, control)
    getSandbox(app)
    getLineage(app, control)
    patchSandbox(app, control)
    deleteSandbox(app, control)
    releaseSandbox(app, control)
    postExec(app, control)
    transitionRoutes(app, control)
    lifecycleRoutes(app, control)
    postFork(app, control)
    postForkTree(app, control)
    postPromote(app, control)
    postSnapshots(app, control)
    getSnapshots(app, control)
    getSnapshot(app, control)
    deleteSnapshot(app, control)
    getPorts(app, control)
    postPorts(app, control)
    deletePorts(app, control)
    portLinkRoutes(app, control)
    await registerProxy(app, control, proxiedRoutes)
    getLanguages(app)
    getEvents(app, control)
  },
  agents: ({ events }) => ({
    prepareRecords: (records) => events.prepare(records),
    applyRecords: (client, records) => events.append(client, records),
    reconcile: reconcileSnapshots,
    resend: resendLifecycles,
  }),
  lanes: (control) => [
    lane('sandboxes', [expiredSandboxes(control)], { atOnce: 64, pollMs: 500 }),
    // A hibernation may take minutes, and must not delay a deletion.
    lane('timeouts', [hibernateTimedOut(control)], { atOnce: 16, pollMs: 500 }),
    // A copy may take long, and must not delay anything else.
    lane('moves', [moveSandboxes(control), moveArtifacts(control)], { atOnce: 8 }),
    copies(control),
    lane('objects', [
      unusedSnapshots(control),
      emptiedOrgs(control),
      drainHosts(control),
      { name: 'sweep-events', cron: '30 * * * *', run: () => control.events.sweep() },
    ]),
  ],
  sweeps: [
    removeOldLinks,
    removeOldLineage,
    removeOldMoves,
    removeOldCopies,
    removeOldArtifactMoves,
    removeOldArtifactCopies,
  ],
  parts: (control) => ({ sandboxes: () => statusOnAgents(control) }),
  addMetrics(registry, { database: { pool } }) {
    addStatusGauge(registry, 'offshoot_sandboxes', 'Sandboxes by status', () => countByStatus(pool))
    addStatusGauge(registry, 'offshoot_sandbox_moves', 'Moves of sandboxes to other hosts under way, by status', () =>
      countMoves(pool),
    )
    addStatusGauge(registry, 'offshoot_sandbox_copies', 'Copies of sandboxes in the object store, by status', () =>
      countCopies(pool),
    )
    addStatusGauge(registry, 'offshoot_snapshot_copies', 'Copies of snapshots in the object store, by status', () =>
      countArtifactCopies(pool, 'snapshot'),
    )
    addStatusGauge(registry, 'offshoot_template_copies', 'Copies of templates in the object store, by status', () =>
      countArtifactCopies(pool, 'template'),
    )
  },
}

/** A copy may take long. Without an object store, there are only earlier ones to give up, which takes no lane. */
function copies(control: SandboxesContext): Lane {
  const always = [copySandboxes(control), copyArtifacts(control), deleteStreams(control)]
  if (control.storedStreams === null) return lane('objects', always)
  const recurring = [planCopies(control), planArtifactCopies(control), recoverLost(control)]
  return lane('copies', [...always, ...recurring], { atOnce: 8, pollMs: 1_000 })
}
