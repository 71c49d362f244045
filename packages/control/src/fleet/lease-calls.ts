import { type AgentLease, agentLease, type LeaseBody } from '@offshoot/contract/agent-lease'
import type { AgentClient } from './agent-client.ts'

const PATH = '/v1/agent/lease'
const GIVE_UP_TIMEOUT_MS = 5_000

/**
 * Renews the lease of a host, or only asks for a challenge.
 * @throws AgentUnreachable, AgentRefused; both calls do
 */
export async function sendRenewal(
  client: AgentClient,
  body: LeaseBody,
  timeoutMs: number,
  requestId: string,
): Promise<AgentLease> {
  const call = { method: 'PUT', path: PATH, requestId, body: JSON.stringify(body), timeoutMs } as const
  return agentLease.parse(await client.ask(call))
}

/** The host needs no lease any more. */
export async function sendGivenUp(client: AgentClient, requestId: string): Promise<void> {
  await client.ask({ method: 'DELETE', path: PATH, requestId, timeoutMs: GIVE_UP_TIMEOUT_MS })
}
