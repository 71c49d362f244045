import { snapshot, snapshotBody } from '@offshoot/contract/snapshot'
import type { FastifyInstance } from 'fastify'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { sandboxOf } from '../../../fleet/admitted-sandbox.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { makeSnapshot } from './make-snapshot.ts'
import { presentSnapshot } from './snapshot-row.ts'

/**
 * `POST /v1/sandboxes/{id}/snapshots`: answers 201 once the snapshot is on the agent's disk. The sandbox keeps running.
 */
export function postSnapshots(app: FastifyInstance, control: SandboxesContext): void {
  app.post('/v1/sandboxes/:id/snapshots', {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      loads: 'sandbox',
      docs: {
        summary: 'Take a snapshot of a sandbox: memory, devices and disk of one instant',
        tag: 'Snapshots',
        body: snapshotBody,
        status: 201,
        answer: snapshot,
        errors: [
          'invalidField',
          'notFound',
          'sandboxNotRunning',
          'conflict',
          'sandboxMoving',
          'agentUnreachable',
          'insufficientMemory',
          'sandboxStorage',
        ],
      },
    },
    handler: async (request, reply) => {
      const { name } = parseBody(request, snapshotBody)
      const made = await makeSnapshot(control, sandboxOf(request), request.id, { name: name ?? null })
      return reply.code(201).send(presentSnapshot(made))
    },
  })
}
