import { ApiError } from '@offshoot/contract/errors'
import { patchSandboxBody, sandbox } from '@offshoot/contract/sandbox'
import type { FastifyInstance } from 'fastify'
import { sandboxOf } from '../../fleet/admitted-sandbox.ts'
import { presentSandbox } from '../../fleet/sandbox-row.ts'
import { parseBody } from '../../platform/http/body.ts'
import { changeVisibility } from './lifecycle/change-lifecycle.ts'
import type { SandboxesContext } from './model/sandboxes-context.ts'

/** `PATCH /v1/sandboxes/{id}`: changes who may open its ports. In force when it answers. */
export function patchSandbox(app: FastifyInstance, control: SandboxesContext): void {
  app.patch('/v1/sandboxes/:id', {
    config: {
      credential: 'key-or-jwt',
      loads: 'sandbox',
      docs: {
        summary: 'Make the ports of a sandbox public or private',
        tag: 'Sandboxes',
        body: patchSandboxBody,
        status: 200,
        answer: sandbox,
        errors: ['invalidField', 'notFound', 'sandboxNotRunning', 'conflict', 'agentUnreachable'],
      },
    },
    handler: async (request) => {
      const { visibility } = parseBody(request, patchSandboxBody)
      const row = sandboxOf(request)
      if (row.managed_by !== null) {
        throw new ApiError('conflict', { detail: 'the app or database that owns this sandbox decides who may open it' })
      }
      return presentSandbox(await changeVisibility(control, row, visibility, request.id))
    },
  })
}
