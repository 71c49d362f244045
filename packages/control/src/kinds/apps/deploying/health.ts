import { request as httpRequest } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { openGuestPort } from '../../../fleet/open-guest-port.ts'
import { DeployFailure } from '../project/deploy-failure.ts'
import type { GuestShell } from '../../sandboxes/guest-shell.ts'

/** Consecutive passes that make an app healthy. */
const PASSES = 3
/** Milliseconds for one answer. */
const CHECK_MS = 10_000
/** Milliseconds between two attempts, and between two passes. */
const PAUSE_MS = 25
/** From this status on, an answer means that the app itself is broken. */
const BROKEN_STATUS = 500

export interface HealthOptions {
  /** Called after every failure. Throws if waiting has become pointless. */
  readonly look?: () => Promise<void>
  /** Runs in parallel with the passes after the first one. Both are awaited. */
  readonly firstPassed?: () => Promise<void>
  readonly wanted?: number
}

/**
 * Requests the app's first page from outside, as a visitor would, until three answers in a row are good, or `wanted`
 * answers.
 * @throws DeployFailure
 */
export async function untilHealthy(
  shell: GuestShell,
  port: number,
  deadline: Deadline,
  { look, firstPassed, wanted = PASSES }: HealthOptions = {},
): Promise<void> {
  let passes = 0
  let following: Promise<void> | undefined
  let last = 'no answer'
  while (passes < wanted) {
    const problem = await check(shell, port, deadline)
    passes = problem === null ? passes + 1 : 0
    if (passes === 1) following ??= firstPassed?.()
    following?.catch(() => undefined)
    if (problem !== null) {
      if (deadline.remainingMs === 0) throw new DeployFailure(`not healthy in time on port ${port}: ${last}`)
      last = problem
      await look?.()
    }
    if (passes < wanted) await delay(PAUSE_MS)
  }
  await following
}

/** `null` if the app has answered. */
async function check(shell: GuestShell, port: number, deadline: Deadline): Promise<string | null> {
  try {
    deadline.throwIfOver()
    const status = await statusOf(shell, port, deadline.within(CHECK_MS, `answer on port ${port}`))
    return status < BROKEN_STATUS ? null : `it answered ${status}`
  } catch (error) {
    return (error as Error).message
  }
}

async function statusOf(shell: GuestShell, port: number, deadline: Deadline): Promise<number> {
  const socket = await openGuestPort(shell, port, deadline)
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = { host: `localhost:${port}`, 'user-agent': 'offshoot-health', connection: 'close' }
  const request = httpRequest({ createConnection: () => socket, path: '/', headers })
  request.once('response', (response) => {
    response.resume()
    resolve(response.statusCode ?? 0)
  })
  request.on('error', reject)
  request.end()
  try {
    return await deadline.race(promise)
  } finally {
    socket.destroy()
  }
}
