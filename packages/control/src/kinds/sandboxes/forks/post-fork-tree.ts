import { DEFAULT_FORK_COUNT, type ForkTree, forkTree, forkTreeBody } from '@offshoot/contract/fork'
import type { FastifyInstance } from 'fastify'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { sandboxOf } from '../../../fleet/admitted-sandbox.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { presentSandbox } from '../../../fleet/sandbox-row.ts'
import { FORK_ERRORS } from './fork-errors.ts'
import { forkSandbox } from './fork-sandbox.ts'

/**
 * `POST /v1/sandboxes/{id}/fork-tree`: answers 201 with the children, and with the errors of those that did not start.
 */
export function postForkTree(app: FastifyInstance, control: SandboxesContext): void {
  app.post('/v1/sandboxes/:id/fork-tree', {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      loads: 'sandbox',
      docs: {
        summary: 'Fork a sandbox into several children, of which one may be promoted',
        tag: 'Forks',
        body: forkTreeBody,
        status: 201,
        answer: forkTree,
        errors: FORK_ERRORS,
      },
    },
    handler: async (request, reply) => {
      const { count = DEFAULT_FORK_COUNT, metadata } = parseBody(request, forkTreeBody)
      const parent = sandboxOf(request)
      const { treeId, ...forked } = await forkSandbox(control, { parent, count, metadata }, request.id)
      if (treeId === null) throw new Error('a fork of several children without a tree')
      const answer: ForkTree = {
        tree_id: treeId,
        parent_id: parent.id,
        snapshot_id: forked.snapshotId,
        children: forked.children.map(presentSandbox),
        errors: [...forked.errors],
        warnings: [...forked.warnings],
      }
      return reply.code(201).send(answer)
    },
  })
}
