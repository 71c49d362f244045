import type { FastifyInstance } from 'fastify'
import type { AppsContext } from '../model/apps-context.ts'
import { getCallback } from './get-callback.ts'
import { getConnect } from './get-connect.ts'
import { installationRoutes } from './installation-routes.ts'
import { postGitWebhook } from './post-webhook.ts'

/** Registers the routes under the provider's own name and under the neutral one. */
export function gitProviderRoutes(app: FastifyInstance, control: AppsContext): void {
  for (const name of ['gitprovider', 'github']) {
    getConnect(app, control, `/v1/${name}`)
    getCallback(app, control, `/v1/${name}`)
    installationRoutes(app, control, `/v1/${name}`)
    postGitWebhook(app, control, `/v1/webhooks/${name}`)
  }
}
