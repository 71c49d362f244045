import type { Socket } from 'node:net'
import type { SandboxId } from '@offshoot/contract/ids'
import { ADMITTED_HEADER, PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import type { Deadline } from '@offshoot/kit/deadline'
import type { Agent } from './agent.ts'
import { openUpgrade } from './open-upgrade.ts'

export interface GuestPort {
  readonly agent: Agent
  readonly sandboxId: SandboxId
  readonly port: number
  /** The visitor may open a private sandbox. Agents refuse others. */
  readonly isAdmitted?: boolean
}

/**
 * Opens a TCP connection to a port inside a sandbox; the agent wakes the sandbox if needed. Each direction can end
 * alone. Retries while the agent restarts.
 * @throws PortRefused, AgentAway, DeadlineExceeded
 */
export function openPort(
  { agent, sandboxId, port, isAdmitted = false }: GuestPort,
  deadline: Deadline,
): Promise<Socket> {
  const wanted = {
    path: `/v1/sandboxes/${sandboxId}/ports/${port}/stream`,
    protocol: PORT_STREAM_PROTOCOL,
    token: () => agent.credential.get(),
    headers: isAdmitted ? { [ADMITTED_HEADER]: '1' } : {},
  }
  return openUpgrade(agent, wanted, deadline)
}
