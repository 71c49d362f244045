import { type AgentArchive, agentArchive } from '@offshoot/contract/agent-archive'
import type { AgentClient } from './agent-client.ts'
import { RECORD_TIMEOUT_MS, type Subject } from './sandbox-calls.ts'

/** Milliseconds to wake a sandbox and to receive a file from it. */
const TAKE_TIMEOUT_MS = 110_000
const PRUNE_TIMEOUT_MS = 60_000

/** Calls about the archive that an agent keeps of a sandbox. All throw AgentUnreachable and AgentRefused. */
export async function readArchive(client: AgentClient, { id, workspaceId, requestId }: Subject): Promise<AgentArchive> {
  const path = `/v1/sandboxes/${id}/archive`
  return agentArchive.parse(
    await client.ask({ method: 'GET', path, workspaceId, requestId, timeoutMs: RECORD_TIMEOUT_MS }),
  )
}

/** Waits until the archive has the file of that name. */
export function takeIntoArchive(client: AgentClient, subject: Subject, name: string): Promise<unknown> {
  return post(client, subject, 'take', { name }, TAKE_TIMEOUT_MS)
}

/** Removes files that were archived before that time. */
export function pruneArchive(client: AgentClient, subject: Subject, before: Date): Promise<unknown> {
  return post(client, subject, 'prune', { before: before.toISOString() }, PRUNE_TIMEOUT_MS)
}

/** Serves a sandbox the files that it requests from another sandbox's archive, until `over` aborts. */
export function feedFromArchive(
  client: AgentClient,
  subject: Subject,
  from: string,
  over: AbortSignal,
): Promise<unknown> {
  return post(client, subject, 'feed', { from }, 0, over)
}

function post(
  client: AgentClient,
  { id, workspaceId, requestId }: Subject,
  action: string,
  body: object,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<unknown> {
  const path = `/v1/sandboxes/${id}/archive/${action}`
  const call = { method: 'POST', path, workspaceId, requestId, body: JSON.stringify(body), timeoutMs } as const
  return client.ask({ ...call, ...(signal && { signal }) })
}
