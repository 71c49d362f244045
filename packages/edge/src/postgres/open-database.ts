import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { DATABASE_PORT } from '@offshoot/contract/database'
import type { SandboxId } from '@offshoot/contract/ids'
import type { Deadline } from '@offshoot/kit/deadline'
import { openPort } from '../agents/open-port.ts'
import { AgentAway, PortRefused } from '../agents/open-upgrade.ts'
import type { SandboxLocations } from '../agents/sandbox-locations.ts'
import { ConnectionRefused, SQLSTATE } from './error-response.ts'

const RETRY_MS = 100
const { noSuchDatabase, tooManyConnections, outOfMemory, cannotConnectNow } = SQLSTATE

/**
 * Errors for the agent's permanent refusals, by status. Other statuses are retried: the server inside may be starting.
 */
const REFUSALS: Readonly<Record<number, readonly [code: string, message: string]>> = {
  // No database is private. Another sandbox may be, and this port opens nothing of it.
  403: [noSuchDatabase, 'database does not exist'],
  404: [noSuchDatabase, 'database does not exist'],
  402: [cannotConnectNow, 'database is paused: the free credit of its workspace is spent'],
  409: [cannotConnectNow, 'database is paused'],
  429: [tooManyConnections, 'too many connections to this database'],
  507: [outOfMemory, 'no memory to wake the database'],
}

/**
 * Connects to a database's server. The agent wakes it if needed; the edge retries while it restarts.
 * @throws ConnectionRefused
 */
export async function openDatabase(
  locations: SandboxLocations,
  id: SandboxId,
  client: Pick<Socket, 'remoteAddress'>,
  deadline: Deadline,
): Promise<Socket> {
  const location = await locations.find(id, client.remoteAddress ?? '', deadline.signal)
  if (location === null) throw new ConnectionRefused(noSuchDatabase, 'database does not exist')
  for (;;) {
    try {
      return await openPort({ agent: location.agent, sandboxId: id, port: DATABASE_PORT }, deadline)
    } catch (error) {
      const refusal = error instanceof PortRefused ? REFUSALS[error.status] : undefined
      if (refusal !== undefined) {
        if (refusal[0] === noSuchDatabase && location.status !== 'failed') locations.forget(id)
        throw new ConnectionRefused(...refusal, undefined, { cause: error })
      }
      if (error instanceof AgentAway || deadline.remainingMs <= RETRY_MS)
        throw new ConnectionRefused(cannotConnectNow, 'database cannot be reached just now', undefined, {
          cause: error,
        })
    }
    await delay(RETRY_MS)
  }
}
