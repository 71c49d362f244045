import { setTimeout as delay } from 'node:timers/promises'
import { EDGE_LOAD_PATH, type EdgeLoad } from '@offshoot/contract/edge-app'
import type { Logger } from 'pino'
import { request } from 'undici'
import { EdgeCredential } from '../agents/edge-credential.ts'
import type { AppLoad } from './app-load.ts'
import type { AppPlaces } from './app-places.ts'

/** Milliseconds between two looks. What is needed at two in a row is told: a burst that is over at once takes no instance. */
const LOOK_MS = 100
const ANSWER_MS = 5_000

export interface ReportLoadOptions {
  readonly control: { readonly url: string; readonly secret: string }
  readonly places: AppPlaces
  readonly load: AppLoad
  readonly log: Logger
}

/** Tells control, until `stopped` aborts, which apps need more than one instance just now; what it does not hear is not needed. */
export async function reportLoad(
  { control, places, load, log }: ReportLoadOptions,
  stopped: AbortSignal,
): Promise<void> {
  const credential = new EdgeCredential(control.secret)
  let before = new Map<string, number>()
  while (!stopped.aborted) {
    const now = neededOf(load, places)
    const apps = [...now].flatMap(([id, needed]) => {
      const both = Math.min(needed, before.get(id) ?? 1)
      return both > 1 ? [{ id, needed: both }] : []
    })
    before = now
    if (apps.length > 0) {
      await tell(`${control.url}${EDGE_LOAD_PATH}`, await credential.get(), { apps }, stopped).catch((error: unknown) =>
        log.debug({ err: error }, 'control was not told of the load of apps'),
      )
    }
    await delay(LOOK_MS, undefined, { signal: stopped }).catch(() => undefined)
  }
}

/** Of apps that may have more than one. */
function neededOf(load: AppLoad, places: AppPlaces): Map<string, number> {
  const needed = new Map<string, number>()
  for (const id of load.busy) {
    const max = places.find(id)?.max_instances ?? 1
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
