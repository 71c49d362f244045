import { text } from 'node:stream/consumers'
import { isIP } from 'node:net'
import { ApiError } from '@offshoot/contract/errors'
import type { GuestConnection, GuestListener } from '@offshoot/guest-link/guest-connection'
import { GuestRequestError, GuestRunError } from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import { dialPort } from '../ports/guest-ports.ts'
import { guestDeadline, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** Addresses of a name to try. */
const MAX_ADDRESSES = 4
/** Of a host; a first dash would be an option of the resolver. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/
/** Names of the sandbox itself, which need no resolver. */
const OWN = new Set(['localhost', '127.0.0.1'])
/** Addresses to bind by the names that clients send (RFC 4254, 7.1). */
const BOUND: Readonly<Record<string, string>> = { '': '0.0.0.0', '*': '0.0.0.0', localhost: '127.0.0.1' }

/**
 * Connects from a sandbox to any address, so the sandbox's own network rules apply. Wakes the sandbox.
 * @throws ApiError 400 for a name that does not resolve, 502 if nothing answers, and as every operation in a guest
 */
export async function connectFrom(sandbox: Sandbox, address: string, port: number): Promise<GuestConnection> {
  if (OWN.has(address)) return dialPort(sandbox, port)
  return withGuest(sandbox, async (link) => {
    const addresses = isIP(address) === 0 ? await resolveInside(link, address) : [address]
    let refusal: unknown = new ApiError('invalidField', { error: `${address} cannot be resolved in the sandbox` })
    for (const each of addresses) {
      try {
        return await link.ports.connect(each, port, guestDeadline(`connection to ${each}`))
      } catch (error) {
        if (!(error instanceof GuestRequestError)) throw error
        refusal = new ApiError('nothingListening', { port, detail: error.message }, { cause: error })
      }
    }
    throw refusal
  })
}

/** Asks the sandbox's own resolver. Empty if the name is unknown, or the template has no resolver program. */
async function resolveInside(link: GuestLink, name: string): Promise<string[]> {
  if (!NAME.test(name)) return []
  try {
    const deadline = guestDeadline('a resolver')
    const process = await link.run({ argv: ['getent', 'ahosts', name], stdin: 'none' }, deadline)
    process.stderr.resume()
    const lines = (await deadline.race(text(process.stdout))).split('\n')
    const addresses = lines.flatMap((line) => (line.includes('STREAM') ? [line.split(' ', 1)[0] ?? ''] : []))
    return [...new Set(addresses)].filter((each) => isIP(each) !== 0).slice(0, MAX_ADDRESSES)
  } catch (error) {
    if (error instanceof GuestRunError) return []
    throw error
  }
}

/** Listens in a sandbox. Wakes it. @throws ApiError 400 for an address or port that cannot be bound */
export function listenIn(sandbox: Sandbox, address: string, port: number): Promise<GuestListener> {
  const bound = BOUND[address] ?? address
  if (isIP(bound) === 0) throw new ApiError('invalidField', { error: `${address} is not an address of the sandbox` })
  return withGuest(sandbox, async (link) => {
    try {
      return await link.ports.listen(bound, port, guestDeadline('a listener'))
    } catch (error) {
      if (!(error instanceof GuestRequestError)) throw error
      throw new ApiError('invalidField', { error: `cannot listen on port ${port}: ${error.message}` }, { cause: error })
    }
  })
}
