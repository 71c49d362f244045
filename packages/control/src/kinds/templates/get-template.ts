import { ApiError } from '@offshoot/contract/errors'
import { template } from '@offshoot/contract/template'
import type { FastifyInstance } from 'fastify'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { presentTemplate } from './present-template.ts'
import { templateByName } from './template-statements.ts'

export function getTemplate(app: FastifyInstance, control: BillingContext): void {
  app.get('/v1/templates/:name', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Read one template', tag: 'Templates', status: 200, answer: template, errors: ['notFound'] },
    },
    handler: async (request) => {
      const { name } = request.params as { name: string }
      // PostgreSQL cannot store NUL in a text, so no template has such a name.
      if (name.includes('\0')) throw new ApiError('notFound')
      const [row] = await templateByName(control.database.pool, callerOf(request).workspaceId, name)
      if (row === undefined) throw new ApiError('notFound')
      return presentTemplate(row)
    },
  })
}
