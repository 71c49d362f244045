import type { Kind } from '../../fleet/kind.ts'
import { lane } from '../../platform/jobs/task.ts'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { buildRoutes } from './build-routes.ts'
import { deleteTemplate } from './delete-template.ts'
import { getTemplate } from './get-template.ts'
import { getTemplates } from './get-templates.ts'
import { postBuild } from './post-build.ts'
import { postSandboxTemplate } from './post-sandbox-template.ts'
import { reconcileTemplates } from './reconcile-templates.ts'
import { settleBuilds } from './settle-builds.ts'
import { dropUnreportedTemplates, reportGlobalTemplates } from './template-statements.ts'

/** Milliseconds between two looks at builds in progress. */
const LOOK_MS = 1_000

/** Templates and their builds. */
export const templates: Kind<BillingContext> = {
  name: 'templates',
  async routes(app, control) {
    getTemplates(app, control)
    getTemplate(app, control)
    deleteTemplate(app, control)
    buildRoutes(app, control)
    await postBuild(app, control)
    postSandboxTemplate(app, control)
  },
  agents: () => ({
    async storeOffer(client, info) {
      await reportGlobalTemplates(client, JSON.stringify(info.templates.filter(({ is_global: isGlobal }) => isGlobal)))
      await dropUnreportedTemplates(client)
    },
    reconcile: reconcileTemplates,
  }),
  lanes: (control) => [
    lane('objects', [
      {
        name: 'settle-builds',
        recur: async () => ((await settleBuilds(control, control.log)) ? LOOK_MS : null),
      },
    ]),
  ],
}
