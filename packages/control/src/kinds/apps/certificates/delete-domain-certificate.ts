import { parseDomain } from '@offshoot/contract/app-domain'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { findApp } from '../model/find-app.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { takeGivenCertificate } from './certificate-statements.ts'

/** `DELETE /v1/apps/{id}/domains/{domain}/certificate`: removes the uploaded certificate and answers 204. */
export function deleteDomainCertificate(app: FastifyInstance, control: AppsContext): void {
  app.delete('/v1/apps/:id/domains/:domain/certificate', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Forget the certificate that was given for a domain',
        tag: 'Apps',
        status: 204,
        errors: ['notFound'],
      },
    },
    handler: async (request, reply) => {
      const { id } = await findApp(control, request)
      const domain = parseDomain((request.params as { domain: string }).domain)
      const [taken] = domain === null ? [] : await takeGivenCertificate(control.database.pool, id, domain)
      if (taken === undefined) throw new ApiError('notFound')
      return reply.code(204).send()
    },
  })
}
