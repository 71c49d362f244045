import { createSandboxBody, sandbox } from '@offshoot/contract/sandbox'
import type { SandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import type { SandboxesContext } from './model/sandboxes-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseBody } from '../../platform/http/body.ts'
import { CREATE_REFUSALS } from '../billing/limits/create-refusals.ts'
import { resourceIdOf } from '../../platform/idempotency/idempotency.ts'
import { createSandbox } from './create-sandbox.ts'
import { sandboxRemains } from './sandbox-remains.ts'
import { presentSandbox } from '../../fleet/sandbox-row.ts'

/** Bytes: `env` alone may hold 8 Mi characters. */
const BODY_LIMIT_BYTES = 32 * 1024 * 1024

/** `POST /v1/sandboxes`. If the caller hangs up, the create continues, and the sandbox appears in the list. */
export function postSandboxes(app: FastifyInstance, control: SandboxesContext): void {
  app.post('/v1/sandboxes', {
    bodyLimit: BODY_LIMIT_BYTES,
    config: {
      credential: 'key-or-jwt',
      idempotent: { findRemains: (workspaceId, id) => sandboxRemains(control, workspaceId, id) },
      docs: {
        summary: 'Create a sandbox from a template',
        tag: 'Sandboxes',
        body: createSandboxBody,
        status: 201,
        answer: sandbox,
        errors: [
          'invalidField',
          'notFound',
          'noComputeNode',
          'agentUnreachable',
          'insufficientMemory',
          'sandboxStorage',
          ...CREATE_REFUSALS,
        ],
      },
    },
    handler: async (request, reply) => {
      const caller = callerOf(request)
      const { workspaceId } = caller
      const body = parseBody(request, createSandboxBody)
      const id = resourceIdOf(request) as SandboxId
      const created = await createSandbox(control, { id, workspaceId, caller, requestId: request.id, body })
      control.metrics.creates.inc()
      return reply.code(201).send(presentSandbox(created))
    },
  })
}
