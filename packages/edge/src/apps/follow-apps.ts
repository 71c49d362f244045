import { setTimeout as delay } from 'node:timers/promises'
import { EDGE_APPS_PATH, edgeApp, edgeAppGone, edgeApps } from '@offshoot/contract/edge-app'
import { readServerSentEvents, type ServerSentEvent } from '@offshoot/kit/server-sent-events'
import type { Logger } from 'pino'
import { request } from 'undici'
import { EdgeCredential } from '../agents/edge-credential.ts'
import type { AppPlaces } from './app-places.ts'

/** Milliseconds before reconnecting. */
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 1_000
const ANSWER_MS = 5_000
/** Milliseconds without a byte, heartbeats included. */
const SILENCE_MS = 45_000

export interface FollowAppsOptions {
  readonly control: { readonly url: string; readonly secret: string }
  readonly places: AppPlaces
  readonly log: Logger
}

/**
 * Keeps the places of apps consistent with control, until `stopped` aborts. While control is away, the last known state
 * applies.
 */
export async function followApps({ control, places, log }: FollowAppsOptions, stopped: AbortSignal): Promise<void> {
  const credential = new EdgeCredential(control.secret)
  let retryMs = FIRST_RETRY_MS
  let isAway = false
  while (!stopped.aborted) {
    try {
      const { statusCode, body } = await request(`${control.url}${EDGE_APPS_PATH}`, {
        headers: { authorization: `Bearer ${await credential.get()}` },
        headersTimeout: ANSWER_MS,
        bodyTimeout: SILENCE_MS,
        signal: stopped,
      })
      if (statusCode !== 200) throw new Error(`control answered ${statusCode}: ${await body.text()}`)
      retryMs = FIRST_RETRY_MS
      isAway = false
      for await (const batch of readServerSentEvents(body)) for (const event of batch) apply(places, event)
    } catch (error) {
      // Log once per outage, not per retry.
      if (!stopped.aborted && !isAway) log.warn({ err: error }, 'control tells nothing of apps')
      isAway = true
    }
    await delay(retryMs, undefined, { signal: stopped }).catch(() => undefined)
    retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)
  }
}

function apply(places: AppPlaces, { event, data }: ServerSentEvent): void {
  const value: unknown = JSON.parse(data)
  if (event === 'all') places.replace(edgeApps.parse(value))
  else if (event === 'app') places.set(edgeApp.parse(value))
  else if (event === 'gone') places.remove(edgeAppGone.parse(value).id)
}
