import { ApiError } from '@offshoot/contract/errors'
import type { FastifyRequest } from 'fastify'
import type { AgentClient } from '../agent-client.ts'
import { AgentUnreachable, refuse } from '../agent-failure.ts'
import type { FleetContext } from '../fleet-context.ts'
import { locationOf } from '../admitted-sandbox.ts'
import type { SandboxLocation } from '../sandbox-locations.ts'
import { isRuledOut, type ProxiedRoute } from './proxied-route.ts'

/**
 * The agent of the request's sandbox. If a stored copy keeps the sandbox from waking, the copy is given up, because a
 * body that is forwarded cannot be sent twice.
 * @throws ApiError 404, 502 before anything is forwarded
 */
export async function agentOf(
  control: FleetContext,
  { needs }: Pick<ProxiedRoute, 'needs'>,
  request: FastifyRequest,
): Promise<AgentClient> {
  const known = locationOf(request)
  const location = needs === 'guest' ? await released(control, known, request.id) : known
  if (isRuledOut({ needs }, location)) throw new ApiError('sandboxNotRunning')
  const agent = control.fleet.byId(location.agent_id)
  if (agent === undefined) throw new ApiError('agentUnreachable')
  return agent.client
}

/** The location of a sandbox that may wake there. @throws ApiError 404, 502 */
async function released(
  { held, locations }: FleetContext,
  location: SandboxLocation,
  requestId: string,
): Promise<SandboxLocation> {
  if (location.is_held !== true) return location
  await held.release(location.id, requestId).catch(refuse)
  const now = await locations.find(location.id, location.workspace_id)
  if (now === null) throw new ApiError('notFound')
  return now
}

/** The error for a forwarded request without an answer. */
export function refuseForwarded(error: unknown, hangUp: AbortSignal): never {
  // The caller is gone. The status is only for the log and the metrics.
  if (hangUp.aborted) throw new ApiError('invalidField', { error: 'the caller hung up' }, { cause: error })
  if (error instanceof AgentUnreachable) throw new ApiError('agentUnreachable', {}, { cause: error })
  throw error
}

/** The error for an agent's answer that callers must not see. */
export function unexpectedAnswer(request: FastifyRequest, status: number, body: string): ApiError {
  const cause = new Error(`agent answered ${request.routeOptions.url} with ${status}: ${body.slice(0, 500)}`)
  return new ApiError('internal', { detail: `request ${request.id}` }, { cause })
}
