import { promoteBody, promotion } from '@offshoot/contract/fork'
import type { FastifyInstance } from 'fastify'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { sandboxOf } from '../../../fleet/admitted-sandbox.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { promoteSandbox } from './promote-sandbox.ts'

export function postPromote(app: FastifyInstance, control: SandboxesContext): void {
  app.post('/v1/sandboxes/:id/promote', {
    config: {
      credential: 'key-or-jwt',
      loads: 'sandbox',
      docs: {
        summary: 'Promote a child of a fork tree: it stays, its siblings are deleted',
        tag: 'Forks',
        body: promoteBody,
        status: 200,
        answer: promotion,
        errors: ['invalidField', 'notFound', 'sandboxNotRunning', 'notForkTreeChild', 'agentUnreachable'],
      },
    },
    handler: (request) => {
      const body = parseBody(request, promoteBody)
      return promoteSandbox(control, sandboxOf(request), body, request.id)
    },
  })
}
