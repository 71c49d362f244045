import {
  type AgentFork,
  agentFork,
  type AgentLifecycle,
  agentLifecycle,
  type AgentLifecyclePatch,
  type AgentListeners,
  agentListeners,
  type AgentSandbox,
  agentSandbox,
  type ForkOnAgentBody,
  type HibernateOnAgentBody,
  type PromoteOnAgentBody,
  type WakeOnAgentBody,
} from '@offshoot/contract/agent-api'
import type { Dispatcher } from 'undici'
import { type AgentClient, CREATE_TIMEOUT_MS } from './agent-client.ts'

/** Milliseconds for calls that touch no VM. */
export const RECORD_TIMEOUT_MS = 5_000
/** Milliseconds for a guest request that runs no command. */
const LISTENERS_TIMEOUT_MS = 15_000
export const PATCH_TIMEOUT_MS = 30_000
/** Milliseconds to write a VM's whole memory to disk or to read it back, including the queue. */
export const MEMORY_TIMEOUT_MS = 310_000

export type Transition = 'pause' | 'resume' | 'hibernate' | 'wake'

/**
 * The subject of a call: one sandbox or snapshot, the workspace whose credential opens it, and the request that asks.
 */
export interface Subject {
  readonly id: string
  readonly workspaceId: string
  readonly requestId: string
}

/** The calls about one sandbox. All throw AgentUnreachable and AgentRefused. */
export async function move(
  client: AgentClient,
  subject: Subject,
  transition: Transition,
  body: WakeOnAgentBody | HibernateOnAgentBody = {},
): Promise<AgentSandbox> {
  return agentSandbox.parse(await post(client, subject, transition, body, MEMORY_TIMEOUT_MS))
}

/** Checks that the agent has the sandbox. */
export async function look(client: AgentClient, subject: Subject): Promise<AgentSandbox> {
  return agentSandbox.parse(await ask(client, subject, { method: 'GET', timeoutMs: RECORD_TIMEOUT_MS }))
}

export async function readLifecycle(client: AgentClient, subject: Subject): Promise<AgentLifecycle> {
  const options = { method: 'GET', action: 'lifecycle', timeoutMs: RECORD_TIMEOUT_MS } as const
  return agentLifecycle.parse(await ask(client, subject, options))
}

export async function readListeners(client: AgentClient, subject: Subject): Promise<AgentListeners> {
  const options = { method: 'GET', action: 'listeners', timeoutMs: LISTENERS_TIMEOUT_MS } as const
  return agentListeners.parse(await ask(client, subject, options))
}

/** Waits until the agent has finished its current operation on the sandbox. */
export async function patchLifecycle(
  client: AgentClient,
  subject: Subject,
  patch: AgentLifecyclePatch,
): Promise<AgentLifecycle> {
  const options = { method: 'PATCH', action: 'lifecycle', body: patch, timeoutMs: PATCH_TIMEOUT_MS } as const
  return agentLifecycle.parse(await ask(client, subject, options))
}

export async function fork(client: AgentClient, subject: Subject, body: ForkOnAgentBody): Promise<AgentFork> {
  return agentFork.parse(await post(client, subject, 'fork', body, CREATE_TIMEOUT_MS))
}

export async function promote(client: AgentClient, subject: Subject, body: PromoteOnAgentBody): Promise<AgentSandbox> {
  return agentSandbox.parse(await post(client, subject, 'promote', body, RECORD_TIMEOUT_MS))
}

interface AskOptions {
  readonly method: Dispatcher.HttpMethod
  readonly action?: string
  readonly body?: object
  readonly timeoutMs: number
}

function post(client: AgentClient, subject: Subject, action: string, body: object, timeoutMs: number) {
  return ask(client, subject, { method: 'POST', action, body, timeoutMs })
}

function ask(client: AgentClient, subject: Subject, { method, action, body, timeoutMs }: AskOptions): Promise<unknown> {
  const { id, workspaceId, requestId } = subject
  const path = action === undefined ? `/v1/sandboxes/${id}` : `/v1/sandboxes/${id}/${action}`
  return client.ask({
    method,
    path,
    workspaceId,
    requestId,
    ...(body && { body: JSON.stringify(body) }),
    timeoutMs,
  })
}
