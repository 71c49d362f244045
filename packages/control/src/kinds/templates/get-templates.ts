import { template } from '@offshoot/contract/template'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { BillingContext } from '../billing/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { presentTemplate } from './present-template.ts'
import { templatesOfWorkspace } from './template-statements.ts'

/** `GET /v1/templates`: the workspace's own templates and the global ones, by name. */
export function getTemplates(app: FastifyInstance, control: BillingContext): void {
  app.get('/v1/templates', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'List templates', tag: 'Templates', status: 200, answer: z.array(template) },
    },
    handler: async (request) => {
      const rows = await templatesOfWorkspace(control.database.pool, callerOf(request).workspaceId)
      return rows.map(presentTemplate)
    },
  })
}
