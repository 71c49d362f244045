import { constants } from 'node:os'
import { ApiError } from '@offshoot/contract/errors'
import type { GuestConnection } from '@offshoot/guest-link/guest-connection'
import { GuestRequestError } from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'
import { guestDeadline, withAwakeGuest, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** The templates' own SSH server. It listens in every sandbox and is of no use to a browser. */
const SSH_PORT = 22
/** Errors that mean that no guest runs, so that nothing listens. */
const WITHOUT_GUEST = new Set([404, 409])

/** The ports of a guest that accept connections, without the port of the templates' SSH server. @throws as GuestPorts.listeners */
export async function listenersOf({ ports }: GuestLink, deadline: Deadline): Promise<number[]> {
  return (await ports.listeners(deadline)).filter((port) => port !== SSH_PORT)
}

/** The ports that accept connections in a sandbox now; empty if its guest does not run. @throws ApiError */
export async function detectedPorts(sandbox: Sandbox): Promise<number[]> {
  try {
    return await withAwakeGuest(sandbox, (link) => listenersOf(link, guestDeadline(`listeners of ${sandbox.id}`)))
  } catch (error) {
    if (error instanceof ApiError && WITHOUT_GUEST.has(error.status)) return []
    throw error
  }
}

/** Connects to a port of a sandbox. Wakes the sandbox. @throws ApiError 404, 409 paused, 429, 502 nothing listens, 507 */
export function dialPort(sandbox: Sandbox, port: number): Promise<GuestConnection> {
  return withGuest(sandbox, ({ ports }) =>
    ports.dial(port, guestDeadline(`connection to port ${port} of ${sandbox.id}`)).catch((error: unknown) => {
      throw refusalOf(error, port)
    }),
  )
}

function refusalOf(error: unknown, port: number): unknown {
  if (!(error instanceof GuestRequestError)) return error
  const { EAGAIN, EMFILE, ENOMEM } = constants.errno
  const isFull = [EAGAIN, EMFILE, ENOMEM].includes(error.errno)
  return new ApiError(isFull ? 'tooManyConnections' : 'nothingListening', isFull ? {} : { port }, { cause: error })
}
