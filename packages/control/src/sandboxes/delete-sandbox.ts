import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { AgentUnreachable } from '../agents/agent-failure.ts'
import { retiredAgent } from '../agents/agent-statements.ts'
import type { Control } from '../control.ts'
import { sandboxOf } from '../http/admission.ts'
import type { SandboxRow } from './sandbox-row.ts'
import { removeSandbox } from './sandbox-statements.ts'

/** `DELETE /v1/sandboxes/{id}`: 204 once the VM and its folder are gone. */
export function deleteSandbox(app: FastifyInstance, control: Control): void {
  app.delete('/v1/sandboxes/:id', {
    config: {
      credential: 'key-or-jwt',
      loads: 'sandbox',
      docs: {
        summary: 'Delete a sandbox',
        tag: 'Sandboxes',
        status: 204,
        errors: ['notFound', 'sandboxManaged', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      const row = sandboxOf(request)
      if (row.managed_by !== null) throw new ApiError('sandboxManaged')
      await removeFromAgent(control, row, request.id)
      await removeSandbox(control.database.pool, row.id)
      return reply.code(204).send()
    },
  })
}

/**
 * First the VM, then the row: while the agent cannot be reached the row stays, and says that something
 * is still there. Of an agent that is retired nothing is.
 */
async function removeFromAgent({ fleet, database }: Control, row: SandboxRow, requestId: string): Promise<void> {
  const agent = fleet.byId(row.agent_id)
  if (agent === undefined) {
    const [retired] = await retiredAgent(database.pool, row.agent_id)
    if (retired === undefined) throw new ApiError('agentUnreachable')
    return
  }
  try {
    await agent.client.remove(row.id, row.workspace_id, requestId)
  } catch (error) {
    if (error instanceof AgentUnreachable) throw new ApiError('agentUnreachable', {}, { cause: error })
    throw error
  }
}
