import { template, templateListQuery } from '@offshoot/contract/template'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseWith } from '../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage } from '../../platform/http/page-of.ts'
import { presentTemplate } from './present-template.ts'
import { TEMPLATE_COLUMNS, type TemplateRow } from './template-statements.ts'

const ORDER: ListOrder<TemplateRow> = {
  name: 'templates',
  direction: 'asc',
  keys: [
    { sql: 'name', type: 'text', of: ({ name }) => name },
    { sql: '(workspace_id is null)', type: 'boolean', of: ({ workspace_id: owner }) => owner === null },
  ],
}

/** `GET /v1/templates`: the workspace's own templates and the global ones, by name. */
export function getTemplates(app: FastifyInstance, control: BillingContext): void {
  app.get('/v1/templates', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List templates, by name',
        tag: 'Templates',
        query: templateListQuery,
        status: 200,
        answer: z.array(template),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const query = parseWith(templateListQuery, request.query)
      const { workspaceId } = callerOf(request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: workspaceId,
        select: `select ${TEMPLATE_COLUMNS} from templates`,
        where: [
          sql`(workspace_id is null or workspace_id = ${workspaceId})`,
          ...equals('name', query.name),
          ...equals('(workspace_id is null)', query.is_global),
          ...createdBetween('created_at', query),
        ],
        query,
      })
      return rows.map(presentTemplate)
    },
  })
}
