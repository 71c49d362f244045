import { ApiError } from '@offshoot/contract/errors'
import type { FastifyRequest } from 'fastify'
import type { AgentClient } from '../agent-client.ts'
import { AgentUnreachable } from '../agent-failure.ts'
import type { FleetContext } from '../fleet-context.ts'
import { locationOf } from '../admitted-sandbox.ts'
import { isRuledOut, type ProxiedRoute } from './proxied-route.ts'

/** The agent of the request's sandbox. @throws ApiError 404, 502 before anything is forwarded */
export function agentOf(control: FleetContext, route: ProxiedRoute, request: FastifyRequest): AgentClient {
  const location = locationOf(request)
  if (isRuledOut(route, location)) throw new ApiError('sandboxNotRunning')
  const agent = control.fleet.byId(location.agent_id)
  if (agent === undefined) throw new ApiError('agentUnreachable')
  return agent.client
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
