import type { FastifyInstance } from 'fastify'
import type { AppsContext } from '../model/apps-context.ts'
import { getDeploy } from './get-deploy.ts'
import { getDeployLogs } from './get-deploy-logs.ts'
import { getDeploys } from './get-deploys.ts'
import { getRuntimeLogs } from './get-runtime-logs.ts'
import { postCancel } from './post-cancel.ts'
import { postDeploys } from './post-deploys.ts'
import { postRollback } from './post-rollback.ts'

/** All routes for the versions of an app. */
export function deploymentRoutes(app: FastifyInstance, control: AppsContext): void {
  for (const route of [postDeploys, getDeploys, getDeploy, getDeployLogs, postCancel, postRollback, getRuntimeLogs]) {
    route(app, control)
  }
}
