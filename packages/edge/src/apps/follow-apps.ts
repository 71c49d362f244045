import { EDGE_APPS_PATH, edgeApp, edgeAppGone, edgeApps } from '@offshoot/contract/edge-app'
import { keepFollowing } from '@offshoot/kit/keep-following'
import { readServerSentEvents, type ServerSentEvent } from '@offshoot/kit/server-sent-events'
import type { Logger } from 'pino'
import { request } from 'undici'
import { EdgeCredential } from '../agents/edge-credential.ts'
import type { AppLocations } from './app-locations.ts'

const ANSWER_MS = 5_000
/** Milliseconds without a byte, heartbeats included. */
const SILENCE_MS = 45_000

export interface FollowAppsOptions {
  readonly control: { readonly url: string; readonly secret: string }
  readonly locations: AppLocations
  readonly log: Logger
}

/**
 * Keeps the locations of apps consistent with control, until `stopped` aborts. While control is away, the last known state
 * applies.
 */
export function followApps({ control, locations, log }: FollowAppsOptions, stopped: AbortSignal): Promise<void> {
  const credential = new EdgeCredential(control.secret)
  const follow = async (onConnected: () => void) => {
    const { statusCode, body } = await request(`${control.url}${EDGE_APPS_PATH}`, {
      headers: { authorization: `Bearer ${await credential.get()}` },
      headersTimeout: ANSWER_MS,
      bodyTimeout: SILENCE_MS,
      signal: stopped,
    })
    if (statusCode !== 200) throw new Error(`control answered ${statusCode}: ${await body.text()}`)
    onConnected()
    for await (const batch of readServerSentEvents(body)) for (const event of batch) apply(locations, event)
  }
  return keepFollowing({ follow, onOutage: (error) => log.warn({ err: error }, 'apps not followed') }, stopped)
}

function apply(locations: AppLocations, { event, data }: ServerSentEvent): void {
  const value: unknown = JSON.parse(data)
  if (event === 'all') locations.replace(edgeApps.parse(value))
  else if (event === 'app') locations.set(edgeApp.parse(value))
  else if (event === 'gone') locations.remove(edgeAppGone.parse(value).id)
}
