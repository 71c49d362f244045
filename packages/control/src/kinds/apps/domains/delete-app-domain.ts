import { appDomainBody, parseDomain } from '@offshoot/contract/app-domain'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { findApp } from '../model/find-app.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { removeDomain } from './app-domain-statements.ts'

const URL = '/v1/apps/:id/domains'
const docs = {
  summary: 'Take a domain from an app',
  tag: 'Apps',
  status: 204,
  errors: ['invalidField', 'notFound'],
} as const
const query = z.object({ domain: z.string().optional() })

/**
 * `DELETE /v1/apps/{id}/domains/{domain}`, or with the domain in the query or the body: answers 204. The app is no
 * longer served at the domain.
 */
export function deleteAppDomain(app: FastifyInstance, control: AppsContext): void {
  app.delete(`${URL}/:domain`, {
    config: { credential: 'key-or-jwt', docs },
    handler: (request, reply) => remove(control, request, reply, (request.params as { domain: string }).domain),
  })
  app.delete(URL, {
    config: { credential: 'key-or-jwt', docs: { ...docs, query, body: appDomainBody } },
    handler: (request, reply) => remove(control, request, reply, (request.query as { domain?: unknown }).domain),
  })
}

async function remove(
  control: AppsContext,
  request: FastifyRequest,
  reply: FastifyReply,
  named: unknown,
): Promise<FastifyReply> {
  const { id } = await findApp(control, request)
  const domain =
    named === undefined
      ? parseBody(request, appDomainBody).domain
      : typeof named === 'string'
        ? parseDomain(named)
        : null
  const [removed] = domain === null ? [] : await removeDomain(control.database.pool, id, domain)
  if (removed === undefined) throw new ApiError('notFound')
  return reply.code(204).send()
}
