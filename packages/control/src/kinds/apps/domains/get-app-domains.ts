import { appDomain } from '@offshoot/contract/app-domain'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { certificatesOfApp } from '../certificates/certificate-statements.ts'
import { findApp } from '../find-app.ts'
import type { AppsContext } from '../apps-context.ts'
import { presentAppDomain } from './app-domain-row.ts'
import { domainsOfApp } from './app-domain-statements.ts'

/** `GET /v1/apps/{id}/domains`: all of them, the oldest first. */
export function getAppDomains(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps/:id/domains', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List the domains of an app',
        tag: 'Apps',
        status: 200,
        answer: z.array(appDomain),
        errors: ['notFound'],
      },
    },
    handler: async (request) => {
      const { id } = await findApp(control, request)
      const rows = await domainsOfApp(control.database.pool, id)
      const certificates = new Map((await certificatesOfApp(control.database.pool, id)).map((row) => [row.domain, row]))
      return rows.map((row) => presentAppDomain(row, certificates.get(row.domain), control.config.preview))
    },
  })
}
