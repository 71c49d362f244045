import { appDomain, appDomainListQuery } from '@offshoot/contract/app-domain'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { parseWith } from '../../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage } from '../../../platform/http/page-of.ts'
import { certificatesOfApp } from '../certificates/certificate-statements.ts'
import { findApp } from '../model/find-app.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { type AppDomainRow, presentAppDomain } from './app-domain-row.ts'
import { DOMAIN_COLUMNS } from './app-domain-statements.ts'

const ORDER: ListOrder<AppDomainRow> = {
  name: 'domains',
  direction: 'asc',
  keys: [
    { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
    { sql: 'domain', type: 'text', of: ({ domain }) => domain },
  ],
}
const STATUS = `case when verified_at is null then 'pending' else 'verified' end`

/** `GET /v1/apps/{id}/domains`: the oldest first. */
export function getAppDomains(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps/:id/domains', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List the domains of an app',
        tag: 'Apps',
        query: appDomainListQuery,
        status: 200,
        answer: z.array(appDomain),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const query = parseWith(appDomainListQuery, request.query)
      const { id } = await findApp(control, request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: id,
        select: `select ${DOMAIN_COLUMNS} from app_domains`,
        where: [
          sql`app_id = ${id}`,
          ...equals('domain', query.domain?.toLowerCase()),
          ...equals(STATUS, query.status),
          ...createdBetween('created_at', query),
        ],
        query,
      })
      const certificates = new Map((await certificatesOfApp(control.database.pool, id)).map((row) => [row.domain, row]))
      return rows.map((row) => presentAppDomain(row, certificates.get(row.domain), control.config.preview))
    },
  })
}
