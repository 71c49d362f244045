import type { IncomingMessage } from 'node:http'
import { agentClusterBody } from '@offshoot/contract/agent-api'
import { jwtVerify } from 'jose'
import type { FakeAgentState } from './fake-agent-state.ts'
import type { Handled } from './handled.ts'

const OTHER_CLUSTER: Handled = { status: 409, body: { error: 'host belongs to another cluster' } }

/** The claims of control's credential. @throws if the credential is invalid */
export async function claimsOf({ headers }: IncomingMessage, secret: string) {
  const token = (headers.authorization ?? '').replace(/^Bearer /, '')
  const { payload } = await jwtVerify(token, Buffer.from(secret, 'base64'), { requiredClaims: ['exp'] })
  return payload as { readonly workspace_id?: string; readonly cluster_id?: string }
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly clusterId: string | undefined
  readonly body: unknown
}

/**
 * Answers requests about the agent's cluster as a real agent does: the control of another cluster may not delete
 * anything.
 */
export function answerCluster(state: FakeAgentState, { method, path, clusterId, body }: Asked): Handled | undefined {
  const isOther = (id: string | undefined) => state.clusterId !== null && id !== undefined && id !== state.clusterId
  if (method === 'DELETE') return isOther(clusterId) ? OTHER_CLUSTER : undefined
  if (path !== '/v1/agent/cluster') return undefined
  const { cluster_id: id, take_over: takeOver } = agentClusterBody.parse(body)
  if (isOther(id) && !takeOver) return OTHER_CLUSTER
  state.clusterId = id
  return { status: 204 }
}
