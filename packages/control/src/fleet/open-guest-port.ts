import type { Duplex } from 'node:stream'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import type { Deadline } from '@offshoot/kit/deadline'
import type { AgentClient } from './agent-client.ts'
import { AgentRefused } from './agent-failure.ts'
import { MAX_REFUSAL_BYTES, readBeginning } from '../platform/http/bounded-body.ts'

/** A sandbox, with the workspace whose credential opens it. */
export interface GuestAddress {
  readonly client: AgentClient
  readonly sandboxId: string
  readonly workspaceId: string
  readonly requestId: string
}

/**
 * Opens a TCP connection to a port inside a sandbox, and wakes the sandbox for it.
 * @throws AgentUnreachable, or AgentRefused 502 if nothing listens on the port
 */
export async function openGuestPort(
  { client, sandboxId, workspaceId, requestId }: GuestAddress,
  port: number,
  deadline: Deadline,
): Promise<Duplex> {
  const path = `/v1/sandboxes/${sandboxId}/ports/${port}/stream`
  const answer = await client.upgrade({
    path,
    workspaceId,
    requestId,
    headers: { connection: 'Upgrade', upgrade: PORT_STREAM_PROTOCOL },
    signal: deadline.signal,
  })
  if (answer.kind === 'refused') {
    const text = (await readBeginning(answer.response, MAX_REFUSAL_BYTES)).toString()
    throw new AgentRefused({ method: 'GET', path }, answer.response.statusCode ?? 0, text)
  }
  if (answer.head.length > 0) answer.socket.unshift(answer.head)
  answer.socket.on('error', () => answer.socket.destroy())
  return answer.socket
}
