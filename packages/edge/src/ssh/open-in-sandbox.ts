import type { Socket } from 'node:net'
import { Deadline } from '@offshoot/kit/deadline'
import type { SandboxLocations } from '../agents/sandbox-locations.ts'
import { openReleased } from '../agents/open-released.ts'
import { type AgentAway, openUpgrade, PortRefused, type WantedUpgrade } from '../agents/open-upgrade.ts'
import type { Agent } from '../agents/agent.ts'
import type { AdmittedClient } from './admitted-client.ts'

export interface SandboxDoor {
  readonly locations: SandboxLocations
  readonly client: AdmittedClient
  /** Address of the client. */
  readonly ip: string
  /** Milliseconds for a sandbox to wake. */
  readonly wakeMs: number
}

/** Why an agent refused, as a sentence for the user. */
export class SandboxRefused extends Error {
  override readonly name = 'SandboxRefused'
}

/** The agent of the client's sandbox. @throws SandboxRefused */
export async function agentOf({ locations, client, ip, wakeMs }: SandboxDoor): Promise<Agent> {
  const location = await locations.find(client.sandboxId, ip, AbortSignal.timeout(wakeMs))
  if (location === null) throw new SandboxRefused('the sandbox does not exist any more')
  return location.agent
}

/** Opens an upgraded connection to the inside of the client's sandbox, which wakes. @throws SandboxRefused, Error */
export async function openInSandbox(
  door: SandboxDoor,
  wanted: Pick<WantedUpgrade, 'path' | 'protocol'>,
): Promise<Socket> {
  const agent = await agentOf(door)
  const deadline = Deadline.after(door.wakeMs, `a connection to ${door.client.sandboxId}`)
  try {
    const upgrade = { ...wanted, token: () => door.client.grant() }
    const { sandboxId } = door.client
    return await openReleased(door.locations, { agent, sandboxId }, (now) => openUpgrade(now, upgrade, deadline))
  } catch (error) {
    // It may have moved to another agent: the next connection looks again.
    if (error instanceof PortRefused && error.status === 404) door.locations.forget(door.client.sandboxId)
    throw explain(error as PortRefused | AgentAway | Error)
  }
}

function explain(error: Error): Error {
  if (!(error instanceof PortRefused)) return error
  return new SandboxRefused(sentenceOf(error), { cause: error })
}

/** The agent's error text. */
export function sentenceOf(refused: PortRefused): string {
  try {
    const { error, detail } = JSON.parse(refused.body) as { error?: unknown; detail?: unknown }
    if (typeof error === 'string') return typeof detail === 'string' ? `${error}: ${detail}` : error
  } catch {
    // Not JSON: the status says enough.
  }
  return `the sandbox cannot be reached (${refused.status})`
}
