import type { Readable } from 'node:stream'
import {
  agentBuild,
  type AgentBuild,
  agentBuildList,
  agentTemplateList,
  type AgentTemplateList,
  type BuildOnAgentBody,
  type TemplateOfSandboxBody,
  uploadedRootfs,
} from '@offshoot/contract/agent-build'
import type { AgentClient } from './agent-client.ts'
import { AgentRefused } from './agent-failure.ts'
import { MEMORY_TIMEOUT_MS, RECORD_TIMEOUT_MS, type Subject } from './sandbox-calls.ts'
import { MAX_REFUSAL_BYTES, readBeginning } from '../platform/http/bounded-body.ts'

/** Milliseconds for the agent to answer after the last byte. */
const ANSWER_MS = 600_000
/** Milliseconds without progress after which an upload fails. */
const SILENCE_MS = 120_000
/** Milliseconds to cancel a build, including the end of its VM. */
const CANCEL_MS = 60_000

/** Returns the archive's size in bytes. All calls in this file throw AgentUnreachable and AgentRefused. */
export async function uploadRootfs(
  client: AgentClient,
  of: Subject,
  body: Readable,
  signal: AbortSignal,
): Promise<number> {
  const { id, workspaceId, requestId } = of
  const path = `/v1/builds/${id}/rootfs`
  const headers = { 'content-type': 'application/octet-stream' }
  const call = { method: 'PUT', path, workspaceId, requestId, headers, signal } as const
  const answer = await client.forward({ ...call, body, timeoutMs: ANSWER_MS, silenceMs: SILENCE_MS })
  const text = (await readBeginning(answer.body, MAX_REFUSAL_BYTES)).toString()
  if (answer.statusCode !== 201) throw new AgentRefused(call, answer.statusCode, text)
  return uploadedRootfs.parse(JSON.parse(text)).bytes
}

export async function beginOnAgent(
  client: AgentClient,
  body: BuildOnAgentBody,
  workspaceId: string,
  requestId: string,
): Promise<AgentBuild> {
  const call = { method: 'POST', path: '/v1/builds', timeoutMs: RECORD_TIMEOUT_MS } as const
  return agentBuild.parse(await client.ask({ ...call, workspaceId, requestId, body: JSON.stringify(body) }))
}

/** Answers once the agent has captured the sandbox's disk. */
export async function buildFromSandbox(
  client: AgentClient,
  { id, workspaceId, requestId }: Subject,
  body: TemplateOfSandboxBody,
): Promise<AgentBuild> {
  const path = `/v1/sandboxes/${id}/template`
  const call = { method: 'POST', path, timeoutMs: MEMORY_TIMEOUT_MS } as const
  return agentBuild.parse(await client.ask({ ...call, workspaceId, requestId, body: JSON.stringify(body) }))
}

/** Lists the builds of all workspaces. */
export async function listBuilds(client: AgentClient, requestId: string): Promise<AgentBuild[]> {
  const call = { method: 'GET', path: '/v1/builds', requestId, timeoutMs: RECORD_TIMEOUT_MS } as const
  return agentBuildList.parse(await client.ask(call)).builds
}

/** Idempotent. Also works for an upload that never began. */
export async function cancelOnAgent(client: AgentClient, { id, workspaceId, requestId }: Subject): Promise<void> {
  const path = `/v1/builds/${id}`
  await client.ask({ method: 'DELETE', path, workspaceId, requestId, timeoutMs: CANCEL_MS })
}

/** Lists the templates of all workspaces. */
export async function listTemplates(client: AgentClient, requestId: string): Promise<AgentTemplateList> {
  const call = { method: 'GET', path: '/v1/templates', requestId, timeoutMs: RECORD_TIMEOUT_MS } as const
  return agentTemplateList.parse(await client.ask(call))
}
