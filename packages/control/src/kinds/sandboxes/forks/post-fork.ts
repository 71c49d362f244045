import { type Fork, fork, forkBody } from '@offshoot/contract/fork'
import type { FastifyInstance } from 'fastify'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { sandboxOf } from '../../../fleet/admitted-sandbox.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { presentSandbox } from '../../../fleet/sandbox-row.ts'
import { FORK_ERRORS } from './fork-errors.ts'
import { forkSandbox } from './fork-sandbox.ts'

/** `POST /v1/sandboxes/{id}/fork`: answers 201 with the child. If the caller hangs up, the fork continues. */
export function postFork(app: FastifyInstance, control: SandboxesContext): void {
  app.post('/v1/sandboxes/:id/fork', {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      loads: 'sandbox',
      docs: {
        summary: 'Fork a sandbox: a child with its processes, files and memory',
        tag: 'Forks',
        body: forkBody,
        status: 201,
        answer: fork,
        errors: FORK_ERRORS,
      },
    },
    handler: async (request, reply) => {
      const { metadata } = parseBody(request, forkBody)
      const forked = await forkSandbox(control, { parent: sandboxOf(request), count: null, metadata }, request.id)
      const child = presentSandbox(forked.children[0])
      const answer: Fork = {
        ...child,
        snapshot_id: forked.snapshotId,
        children: [child],
        warnings: [...forked.warnings],
      }
      return reply.code(201).send(answer)
    },
  })
}
