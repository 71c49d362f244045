import { parseDomain } from '@offshoot/contract/app-domain'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { findApp } from '../apps/find-app.ts'
import type { Control } from '../control.ts'
import { removeDomain } from './app-domain-statements.ts'

/** `DELETE /v1/apps/{id}/domains/{domain}`: 204; the app is no longer served there. */
export function deleteAppDomain(app: FastifyInstance, control: Control): void {
  app.delete('/v1/apps/:id/domains/:domain', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Take a domain from an app', tag: 'Apps', status: 204, errors: ['notFound'] },
    },
    handler: async (request, reply) => {
      const { id } = await findApp(control, request)
      const domain = parseDomain((request.params as { domain: string }).domain)
      const [removed] = domain === null ? [] : await removeDomain(control.database.pool, id, domain)
      if (removed === undefined) throw new ApiError('notFound')
      return reply.code(204).send()
    },
  })
}
