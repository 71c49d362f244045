import { randomUUID } from 'node:crypto'
import { ApiError } from '@offshoot/contract/errors'
import { snapshot } from '@offshoot/contract/snapshot'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { AgentUnreachable, refusalOf } from '../agents/agent-failure.ts'
import { takeSnapshot } from '../agents/snapshot-calls.ts'
import type { Control } from '../control.ts'
import { sandboxOf } from '../http/admission.ts'
import { parseBody } from '../http/body.ts'
import { liveAgent, subjectOf } from '../sandboxes/live-agent.ts'
import type { SandboxRow } from '../sandboxes/sandbox-row.ts'
import { presentSnapshot, type SnapshotRow } from './snapshot-row.ts'
import { insertCreatingSnapshot, removeCreatingSnapshot, setSnapshotReady } from './snapshot-statements.ts'

const noFields = z.object({})

/** `POST /v1/sandboxes/{id}/snapshots`: 201 once it is on the agent's disk. The sandbox goes on. */
export function postSnapshots(app: FastifyInstance, control: Control): void {
  app.post('/v1/sandboxes/:id/snapshots', {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      loads: 'sandbox',
      docs: {
        summary: 'Take a snapshot of a sandbox: memory, devices and disk of one instant',
        tag: 'Snapshots',
        status: 201,
        answer: snapshot,
        errors: ['notFound', 'sandboxNotRunning', 'conflict', 'agentUnreachable', 'insufficientMemory'],
      },
    },
    handler: async (request, reply) => {
      parseBody(request, noFields)
      const made = await makeSnapshot(control, sandboxOf(request), request.id)
      return reply.code(201).send(presentSnapshot(made))
    },
  })
}

/** The row is there before the agent is asked. A process that dies in between leaves one that reconciliation settles. */
async function makeSnapshot(control: Control, row: SandboxRow, requestId: string): Promise<SnapshotRow> {
  const agent = liveAgent(control, row)
  const { pool } = control.database
  const id = randomUUID()
  const [inserted] = await insertCreatingSnapshot(pool, id, row.id, control.lock.number)
  if (inserted === undefined) throw new ApiError('sandboxNotFound')
  const made = await takeSnapshot(agent, subjectOf(row, requestId), id).catch(async (error: unknown) => {
    await removeCreatingSnapshot(pool, id)
    // It may still come to be there, without a row.
    if (error instanceof AgentUnreachable && error.mayHaveBegun) control.fleet.reconcileSoon(row.agent_id)
    throw refusalOf(error)
  })
  const [ready] = await setSnapshotReady(pool, id, made.size_bytes)
  if (ready === undefined) throw new ApiError('conflict', { detail: 'the snapshot was given up while it was taken' })
  return ready
}
