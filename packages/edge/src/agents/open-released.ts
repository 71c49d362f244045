import type { Socket } from 'node:net'
import { registeredError } from '@offshoot/contract/errors'
import type { SandboxId } from '@offshoot/contract/ids'
import type { Agent } from './agent.ts'
import { AgentAway, PortRefused } from './open-upgrade.ts'
import type { SandboxLocations } from './sandbox-locations.ts'

/**
 * Opens a connection into a sandbox. If its agent is away, or refuses because the sandbox is copied or moves, control is
 * asked: it gives a stored copy up, and says where the sandbox is now. Nothing was sent to the sandbox yet.
 * @throws what `open` throws; AgentAway if control cannot be asked either
 */
export async function openReleased(
  locations: SandboxLocations,
  { agent, sandboxId }: { readonly agent: Agent; readonly sandboxId: SandboxId },
  open: (agent: Agent) => Promise<Socket>,
): Promise<Socket> {
  try {
    return await open(agent)
  } catch (error) {
    const isAway = error instanceof AgentAway
    if (!isAway && !isHeld(error)) throw error
    const now = await locations.release(sandboxId).catch((cause: unknown) => {
      throw isAway ? error : new AgentAway(`${agent.url} keeps ${sandboxId}, and control is away`, { cause })
    })
    if (now === null || (isAway && now === agent)) throw error
    return open(now)
  }
}

/** Whether the agent refused because the sandbox is copied or moves. */
export function isHeld(error: unknown): boolean {
  return (
    error instanceof PortRefused &&
    error.status === 409 &&
    error.body.includes(`"${registeredError('sandboxMoving').error}"`)
  )
}
