import { setTimeout as delay } from 'node:timers/promises'
import { EDGE_LOAD_PATH, type EdgeLoad } from '@offshoot/contract/edge-app'
import type { Logger } from 'pino'
import { request } from 'undici'
import { EdgeCredential } from '../agents/edge-credential.ts'
import type { AppLoad } from './app-load.ts'
import type { AppLocations } from './app-locations.ts'

/** Milliseconds between two reports. */
const REPORT_MS = 1_000
/**
 * Minimum milliseconds between reports while an app needs more instances. The first is sent at once, because a start
 * takes much longer. Each report takes CPU time from that start.
 */
const SHORT_MS = 100
/** Milliseconds for which more instances must be needed, so that a short burst starts none. */
const LASTING_MS = 25
const ANSWER_MS = 5_000

export interface ReportLoadOptions {
  readonly control: { readonly url: string; readonly secret: string }
  readonly locations: AppLocations
  readonly load: AppLoad
  readonly log: Logger
}

/**
 * Reports to control, until `stopped` aborts, which apps need more than one instance. Control treats unreported apps as
 * needing one.
 */
export async function reportLoad(
  { control, locations, load, log }: ReportLoadOptions,
  stopped: AbortSignal,
): Promise<void> {
  const credential = new EdgeCredential(control.secret)
  let short = Promise.withResolvers<void>()
  load.onShort = () => short.resolve()
  while (!stopped.aborted) {
    const before = neededOf(load, locations)
    await pause(LASTING_MS, stopped)
    short = Promise.withResolvers<void>()
    const apps = [...neededOf(load, locations)].flatMap(([id, needed]) => {
      const lasting = Math.min(needed, before.get(id) ?? 1)
      return lasting > 1 ? [{ id, needed: lasting }] : []
    })
    if (apps.length > 0) {
      await tell(`${control.url}${EDGE_LOAD_PATH}`, await credential.get(), { apps }, stopped).catch((error: unknown) =>
        log.debug({ err: error }, 'load of apps not reported to control'),
      )
      await pause(SHORT_MS, stopped)
    }
    await Promise.race([pause(REPORT_MS, stopped), short.promise])
  }
}

async function pause(ms: number, stopped: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: stopped }).catch(() => undefined)
}

/** Counts only apps that may have more than one instance. */
function neededOf(load: AppLoad, locations: AppLocations): Map<string, number> {
  const needed = new Map<string, number>()
  for (const id of load.busy) {
    const max = locations.find(id)?.max_instances ?? 1
    if (max > 1) needed.set(id, Math.min(load.needed(id), max))
  }
  return needed
}

async function tell(url: string, token: string, body: EdgeLoad, stopped: AbortSignal): Promise<void> {
  const { statusCode, body: answer } = await request(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    headersTimeout: ANSWER_MS,
    bodyTimeout: ANSWER_MS,
    signal: stopped,
  })
  await answer.dump()
  if (statusCode !== 204) throw new Error(`control answered ${statusCode}`)
}
