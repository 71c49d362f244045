import { service, type Service } from '@offshoot/contract/identity'
import type { FastifyInstance } from 'fastify'
import type { OrgsContext } from './orgs-context.ts'

/** `GET /v1/service`: public, because a page for signing in needs it. */
export function getService(app: FastifyInstance, { accounts, config }: OrgsContext): void {
  app.get('/v1/service', {
    config: {
      docs: { summary: 'What the service offers, also before sign-in', tag: 'Service', status: 200, answer: service },
    },
    handler: async (): Promise<Service> => {
      const { socialProviders: reached } = await accounts.$context
      const providers = config.oidc_providers.filter(({ id }) => reached.some((each) => each.id === id))
      return {
        sign_up: config.sign_up,
        sign_in_providers: providers.map(({ id, name }) => ({ id, name: name ?? id })),
        support: config.support ?? null,
        has_payments: config.stripe !== undefined,
      }
    },
  })
}
