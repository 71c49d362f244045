import { constants } from 'node:os'
import { ApiError } from '@offshoot/contract/errors'
import type { GuestConnection } from '@offshoot/guest-link/guest-connection'
import { GuestRequestError } from '@offshoot/guest-link/guest-link-error'
import { guestDeadline, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** A connection to a port of a sandbox, which is woken for it. @throws ApiError 404, 409 paused, 429, 502 nothing listens, 507 */
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
