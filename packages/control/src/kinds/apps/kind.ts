import type { Kind } from '../../fleet/kind.ts'
import { addStatusGauge } from '../../platform/http/metrics.ts'
import { Periodic, type PeriodicWork } from '../../platform/jobs/periodic.ts'
import { Reaper } from '../../platform/jobs/reaper.ts'
import { appRoutes } from './app-routes.ts'
import type { AppsContext } from './apps-context.ts'
import { certificateOrders } from './certificates/certificate-orders.ts'
import { settleOldVersions, unnamedSandboxes } from './deploying/old-versions.ts'
import { runDeployment } from './deploying/run-deployment.ts'
import { replaceLostVersions } from './deploying/replace-lost.ts'
import { deploymentRoutes } from './deployments/deployment-routes.ts'
import { gitProviderRoutes } from './git-provider/git-provider-routes.ts'
import { removeOldGitRows } from './git-provider/git-provider-statements.ts'
import { replaceUnhealthy } from './instances/instance-health.ts'
import { settleInstances } from './instances/settle-instances.ts'
import { removeOldPulls } from './previews/preview-statements.ts'
import { proxyApp } from './proxy-app.ts'
import { deletedApps } from './remove-app.ts'
import { oldTrees, settleTrees } from './trees/settle-trees.ts'
import { countTrees } from './trees/tree-statements.ts'

/** Apps: deployments, domains, certificates, previews, instances, and the git provider. */
export const apps: Kind<AppsContext> = {
  name: 'apps',
  async routes(app, control) {
    appRoutes(app, control)
    deploymentRoutes(app, control)
    gitProviderRoutes(app, control)
    await proxyApp(app, control)
  },
  startJobs(control) {
    const { database, config, deployer, certificateKeys: seal, lock, log, stopping: stopped } = control
    const { pool } = database
    deployer.start((row, creator, cancelled) => runDeployment(control, row, creator, cancelled))
    const work: PeriodicWork[] = [
      { what: 'old versions of apps', everyMs: 1_000, run: () => settleOldVersions(control, log) },
      { what: 'installed trees of apps', everyMs: 1_000, run: () => settleTrees(control, log) },
      { what: 'further instances of apps', everyMs: 1_000, run: () => settleInstances(control, log) },
      { what: 'health of instances', everyMs: 5_000, run: () => replaceUnhealthy(control, log) },
      { what: 'lost versions of apps', everyMs: 2_000, run: () => replaceLostVersions(pool, log) },
    ]
    return [
      new Reaper(deletedApps(control), log),
      new Reaper(unnamedSandboxes(control), log),
      new Reaper(oldTrees(control), log),
      ...(config.acme === undefined
        ? []
        : [new Reaper(certificateOrders({ pool, seal, lock, log, stopped, settings: config.acme }), log)]),
      ...work.map((each) => new Periodic(each, log)),
    ]
  },
  sweeps: [removeOldGitRows, removeOldPulls],
  addMetrics(registry, { database: { pool } }) {
    addStatusGauge(
      registry,
      'offshoot_app_trees',
      'Installed dependencies of apps that are kept for their next builds, by status',
      () => countTrees(pool),
    )
  },
}
