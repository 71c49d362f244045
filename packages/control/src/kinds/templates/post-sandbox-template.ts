import { randomUUID } from 'node:crypto'
import { build, type SandboxTemplateBody, sandboxTemplateBody } from '@offshoot/contract/build'
import type { BuildId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import { AgentUnreachable, refusalOf } from '../../fleet/agent-failure.ts'
import { buildFromSandbox } from '../../fleet/build-calls.ts'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { sandboxOf } from '../../fleet/admitted-sandbox.ts'
import { parseBody } from '../../platform/http/body.ts'
import { liveAgent, subjectOf } from '../../fleet/live-agent.ts'
import type { SandboxRow } from '../../fleet/sandbox-row.ts'
import { refuseAccount } from '../billing/limits/refuse-account.ts'
import { addBuild, explainBuildRefusal, refuseTaken } from './begin-build.ts'
import { type BuildRow, presentBuild } from './build-row.ts'
import { removeBuild, setBuildSource } from './build-statements.ts'

/** `POST /v1/sandboxes/{id}/template`: answers 202 once the agent has captured the sandbox, which keeps running. */
export function postSandboxTemplate(app: FastifyInstance, control: BillingContext): void {
  app.post('/v1/sandboxes/:id/template', {
    config: {
      credential: 'key-or-jwt',
      loads: 'sandbox',
      idempotent: {},
      docs: {
        summary: 'Make a template of a sandbox: of its disk, or of disk and memory',
        tag: 'Templates',
        body: sandboxTemplateBody,
        status: 202,
        answer: build,
        errors: [
          'invalidField',
          'invalidJson',
          'notFound',
          'sandboxNotRunning',
          'sandboxStopped',
          'templateExists',
          'tooManyBuilds',
          'agentUnreachable',
          'templateStorage',
          'freeQuotaExceeded',
          'subscriptionNotActive',
        ],
      },
    },
    handler: async (request, reply) => {
      const body = parseBody(request, sandboxTemplateBody)
      const row = sandboxOf(request)
      await refuseAccount(control, row.workspace_id)
      await refuseTaken(control, row.workspace_id, body)
      return reply.code(202).send(presentBuild(await beginFromSandbox(control, row, body, request.id)))
    },
  })
}

/** As in `begin-build.ts`, the row is inserted before the agent is asked. */
async function beginFromSandbox(
  control: BillingContext,
  sandbox: SandboxRow,
  { replace: _replace, ...fields }: SandboxTemplateBody,
  requestId: string,
): Promise<BuildRow> {
  const agent = liveAgent(control, sandbox)
  const id = randomUUID() as BuildId
  const place = { id, workspaceId: sandbox.workspace_id, agentId: sandbox.agent_id }
  // The agent reports the size later.
  const row = await addBuild(control, place, { name: fields.name, size_mb: 0, bytes: 0 })
  const { pool } = control.database
  const { name, memory, start_cmd, ready_cmd } = fields
  const commands = { ...(start_cmd !== undefined && { start_cmd }), ...(ready_cmd !== undefined && { ready_cmd }) }
  const begun = await buildFromSandbox(agent, subjectOf(sandbox, requestId), { id, name, memory, ...commands }).catch(
    async (error: unknown) => {
      // The agent may have started anyway. Then the row is settled by what the agent reports.
      if (!(error instanceof AgentUnreachable && error.mayHaveBegun)) await removeBuild(pool, id)
      throw explainBuildRefusal(error) ?? refusalOf(error)
    },
  )
  const [settled] = await setBuildSource(pool, id, begun.size_mb, begun.bytes)
  return settled ?? row
}
