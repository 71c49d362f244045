import { ApiError } from '@offshoot/contract/errors'
import { type HibernateBody, hibernateBody } from '@offshoot/contract/lifecycle'
import { sandbox, wokenSandbox } from '@offshoot/contract/sandbox'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { refuse } from '../../../fleet/agent-failure.ts'
import { applyAnswer } from '../../../fleet/apply-answer.ts'
import { move, type Transition } from '../../../fleet/sandbox-calls.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { locationOf } from '../../../fleet/admitted-sandbox.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { sandboxLimitsOf } from '../../billing/limits/sandbox-limits.ts'
import { liveAgent, subjectOf } from '../../../fleet/live-agent.ts'
import type { SandboxLocation } from '../../../fleet/sandbox-locations.ts'
import { presentSandbox } from '../../../fleet/sandbox-row.ts'
import { forgetTimeout } from './timeout-statements.ts'
import { sandboxById } from '../model/sandbox-statements.ts'

const SUMMARIES: Record<Transition, string> = {
  pause: 'Stop the vCPUs; memory stays',
  resume: 'Let a paused sandbox go on',
  hibernate: 'Put memory to disk and end the VM',
  wake: 'Bring a hibernated sandbox back',
}

const noFields = z.object({})

const bodies = { pause: noFields, resume: noFields, hibernate: hibernateBody, wake: noFields } as const

/**
 * `POST /v1/sandboxes/{id}/pause`, `resume`, `hibernate`, `wake`. Rows may be stale, so the agent decides which
 * transition is possible. If the caller hangs up, the transition continues.
 */
export function transitionRoutes(app: FastifyInstance, control: SandboxesContext): void {
  for (const [transition, summary] of Object.entries(SUMMARIES) as [Transition, string][]) {
    app.post(`/v1/sandboxes/:id/${transition}`, {
      config: {
        credential: 'key-or-jwt',
        loads: 'location',
        takesSandboxCredential: transition === 'wake',
        docs: {
          summary,
          tag: 'Lifecycle',
          body: bodies[transition],
          status: 200,
          answer: transition === 'wake' ? wokenSandbox : sandbox,
          errors: [
            'notFound',
            'sandboxNotRunning',
            'conflict',
            'sandboxMoving',
            'agentUnreachable',
            'insufficientMemory',
          ],
        },
      },
      handler: async (request) => {
        const location = locationOf(request)
        const asked = parseBody(request, bodies[transition])
        return moveSandbox(control, location, transition, asked, request.id)
      },
    })
  }
}

/**
 * @returns the row after it took the agent's answer, or after a newer record of the log. The row is not read before the
 * call
 */
async function moveSandbox(
  control: SandboxesContext,
  location: SandboxLocation,
  transition: Transition,
  asked: HibernateBody,
  requestId: string,
): Promise<z.infer<typeof wokenSandbox>> {
  const agent = liveAgent(control, location)
  const body = transition === 'wake' ? { limits: await sandboxLimitsOf(control, location.workspace_id) } : asked
  const { pool } = control.database
  // A request to hibernate wins over a deadline that another request extended during a hibernation.
  if (transition === 'hibernate') await forgetTimeout(pool, location.id)
  const moved = await move(agent, subjectOf(location, requestId), transition, body).catch(refuse)
  const applied = await applyAnswer(pool, location, moved)
  const [current] = applied === undefined ? await sandboxById(pool, location.id) : [applied]
  if (current === undefined) throw new ApiError('sandboxNotFound')
  return { ...presentSandbox(current), ...(moved.cold === true ? { cold: true } : {}) }
}
