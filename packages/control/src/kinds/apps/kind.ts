import { APP_TEMPLATE } from '@offshoot/contract/app'
import { ownCertificateName } from '@offshoot/contract/control-settings'
import { statusOnAgents } from '../../fleet/get-status.ts'
import type { Kind } from '../../fleet/kind.ts'
import { addStatusGauge } from '../../platform/http/metrics.ts'
import { lane, type RecurringTask } from '../../platform/jobs/task.ts'
import { appRoutes } from './app-routes.ts'
import type { AppsContext } from './model/apps-context.ts'
import {
  certificateOrders,
  type Orders,
  ordersOfApps,
  ordersOfOwnName,
  wantedCertificates,
} from './certificates/certificate-orders.ts'
import { addOrderFailures } from './certificates/own-certificate.ts'
import { settleOldVersions, unnamedSandboxes } from './deploying/old-versions.ts'
import type { RunDeployment } from './model/deployer.ts'
import { runDeployment } from './deploying/run-deployment.ts'
import { replaceVersions } from './deploying/replace-versions.ts'
import { deploymentRoutes } from './deployments/deployment-routes.ts'
import { gitProviderRoutes } from './git-provider/git-provider-routes.ts'
import { removeOldGitRows } from './git-provider/git-provider-statements.ts'
import { replaceUnhealthy } from './instances/instance-health.ts'
import { settleInstances } from './instances/settle-instances.ts'
import { removeOldPulls } from './previews/preview-statements.ts'
import { removeOldCodes } from './preview-access/access-statements.ts'
import { proxyApp } from './proxy-app.ts'
import { settleVisibility } from './settle-visibility.ts'
import { deletedApps } from './remove-app.ts'
import { oldTrees, settleTrees } from './dependency-cache/settle-trees.ts'
import { countTrees } from './dependency-cache/tree-statements.ts'

/** @param run whether there may be more to do soon */
function recurring(name: string, everyMs: number, run: () => Promise<boolean>): RecurringTask {
  return { name, recur: async () => ((await run()) ? everyMs : null) }
}

function ordersOf({ config, database: { pool } }: AppsContext): readonly Orders[] {
  const name = ownCertificateName(config)
  return [
    ...(config.acme === undefined ? [] : [ordersOfApps(pool, config.acme)]),
    ...(config.tls?.acme === undefined || name === null ? [] : [ordersOfOwnName(pool, config.tls.acme, name)]),
  ]
}

/** Apps: deployments, domains, certificates, previews, instances, and the git provider. */
export const apps: Kind<AppsContext> = {
  name: 'apps',
  parts: (control) => ({
    apps: () => statusOnAgents(control, APP_TEMPLATE),
    // An edge is connected to one control process, so the others cannot tell.
    previews: () => (control.edgeStreams.size === 0 ? 'unknown' : statusOnAgents(control)),
  }),
  async routes(app, control) {
    appRoutes(app, control)
    deploymentRoutes(app, control)
    gitProviderRoutes(app, control)
    await proxyApp(app, control)
  },
  lanes(control) {
    const { database, config, deployer, certificateKeys: seal, lock, log, stopping: stopped } = control
    const { pool } = database
    const run: RunDeployment = (row, creator, cancelled) => runDeployment(control, row, creator, cancelled)
    const orders = ordersOf(control)
    return [
      lane('objects', [
        deletedApps(control),
        unnamedSandboxes(control),
        oldTrees(control),
        recurring('settle-old-versions', 1_000, () => settleOldVersions(control, log)),
        recurring('settle-trees', 1_000, () => settleTrees(control, log)),
        recurring('settle-instances', 1_000, () => settleInstances(control, log)),
        recurring('check-instances', 5_000, () => replaceUnhealthy(control, log)),
        { name: 'replace-lost-versions', recur: () => replaceVersions(control) },
        recurring('settle-visibility', 5_000, async () => {
          await settleVisibility(control, null)
          return false
        }),
        { name: 'start-deployments', recur: () => deployer.look(run) },
      ]),
      lane('certificates', [
        ...(orders.length === 0 ? [] : [certificateOrders({ pool, seal, lock, log, stopped, all: orders })]),
        ...(config.acme === undefined ? [] : [wantedCertificates(pool)]),
      ]),
    ]
  },
  sweeps: [removeOldGitRows, removeOldPulls, removeOldCodes],
  addMetrics(registry, { config, database }) {
    const { pool } = database
    const name = ownCertificateName(config)
    if (name !== null) addOrderFailures(registry, { database }, name)
    addStatusGauge(
      registry,
      'offshoot_app_trees',
      'Installed dependencies of apps that are kept for their next builds, by status',
      () => countTrees(pool),
    )
  },
}
