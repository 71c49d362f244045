import { ApiError } from '@offshoot/contract/errors'
import { guestDeadline, withAwakeGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { listenersOf } from './listeners-of.ts'

/** Where no guest runs, nothing listens. */
const WITHOUT_GUEST = new Set([404, 409])

/** The ports that accept connections in a sandbox now; none in one that does not run. @throws ApiError */
export async function detectedPorts(sandbox: Sandbox): Promise<number[]> {
  try {
    return await withAwakeGuest(sandbox, (link) => listenersOf(link, guestDeadline(`listeners of ${sandbox.id}`)))
  } catch (error) {
    if (error instanceof ApiError && WITHOUT_GUEST.has(error.status)) return []
    throw error
  }
}
