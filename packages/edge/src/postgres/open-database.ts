import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { DATABASE_PORT } from '@offshoot/contract/database'
import type { SandboxId } from '@offshoot/contract/ids'
import type { Deadline } from '@offshoot/kit/deadline'
import type { Agent } from '../agents/agent.ts'
import { openPort } from '../agents/open-port.ts'
import { isHeld, openReleased } from '../agents/open-released.ts'
import { AgentAway, PortRefused } from '../agents/open-upgrade.ts'
import type { SandboxLocations } from '../agents/sandbox-locations.ts'
import type { AbsentDatabases } from './absent-databases.ts'
import { ConnectionRefused, SQLSTATE, UNREACHABLE } from './error-response.ts'

const RETRY_MS = 100
/** Milliseconds between two attempts to reach a database that moves to another host, each of which asks control. */
const MOVING_MS = 500
const { tooManyConnections, outOfMemory, cannotConnectNow } = SQLSTATE
const HOST_AWAY = 'the host of the database is away'

/**
 * Errors for the agent's permanent refusals, by status. Other statuses are retried: the server inside may be starting.
 */
const REFUSALS: Readonly<Record<number, readonly [code: string, message: string]>> = {
  402: [cannotConnectNow, 'database is paused: the free credit of its workspace is spent'],
  409: [cannotConnectNow, 'database is paused'],
  429: [tooManyConnections, 'too many connections to this database'],
  507: [outOfMemory, 'no memory to wake the database'],
}
/**
 * 403: a database is private only while it is brought back. Another sandbox may be private, and this port opens nothing
 * of it. 404: the agent does not have it, or it has failed.
 */
const ABSENT: ReadonlySet<number> = new Set([403, 404])

/** What the edge knows of databases. */
export interface Databases {
  readonly locations: SandboxLocations
  readonly absent: AbsentDatabases
}

/**
 * Connects to a database's server. The agent wakes it if needed; the edge retries while it restarts or moves to another
 * host.
 * @throws ConnectionRefused
 */
export async function openDatabase(
  { locations, absent }: Databases,
  id: SandboxId,
  client: Pick<Socket, 'remoteAddress'>,
  deadline: Deadline,
): Promise<Socket> {
  const address = client.remoteAddress ?? ''
  const find = () => locations.find(id, address, deadline.signal)
  let location = await find()
  let isFoundAgain = false
  for (;;) {
    if (location === null) throw await absent.refusal(id, address, HOST_AWAY)
    try {
      const open = (agent: Agent) => openPort({ agent, sandboxId: id, port: DATABASE_PORT }, deadline)
      return await openReleased(locations, { agent: location.agent, sandboxId: id }, open)
    } catch (error) {
      const isAbsent = error instanceof PortRefused && ABSENT.has(error.status)
      const isUnknown = isAbsent && location.status !== 'failed'
      if (isUnknown) locations.forget(id)
      if (isUnknown && !isFoundAgain) {
        // Another host may have it by now.
        isFoundAgain = true
        location = await find()
        continue
      }
      if (isAbsent) throw await absent.refusal(id, address, UNREACHABLE, error)
      if (error instanceof AgentAway) throw await absent.refusal(id, address, HOST_AWAY, error)
      const isMoving = isHeld(error)
      const refusal = error instanceof PortRefused && !isMoving ? REFUSALS[error.status] : undefined
      if (refusal !== undefined) throw new ConnectionRefused(...refusal, undefined, { cause: error })
      const pauseMs = isMoving ? MOVING_MS : RETRY_MS
      if (deadline.remainingMs <= pauseMs) {
        const message = isMoving ? 'database is moving to another host' : UNREACHABLE
        throw new ConnectionRefused(cannotConnectNow, message, undefined, { cause: error })
      }
      await delay(pauseMs)
    }
  }
}
