import { sandbox } from '@offshoot/contract/sandbox'
import type { FastifyInstance } from 'fastify'
import { sandboxOf } from '../../fleet/admitted-sandbox.ts'
import { presentSandbox } from '../../fleet/sandbox-row.ts'

export function getSandbox(app: FastifyInstance): void {
  app.get('/v1/sandboxes/:id', {
    config: {
      credential: 'key-or-jwt',
      loads: 'sandbox',
      takesSandboxCredential: true,
      managed: 'open',
      docs: { summary: 'Read one sandbox', tag: 'Sandboxes', status: 200, answer: sandbox, errors: ['notFound'] },
    },
    handler: async (request) => presentSandbox(sandboxOf(request)),
  })
}
