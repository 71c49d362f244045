import { setTimeout as delay } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { z } from 'zod'

const POLL_MS = 20
const HEALTHY_WITHIN_MS = 60_000

const health = z.object({ status: z.string(), checks: z.object({ agents: z.unknown() }) })

/** Waits until control answers and its agent is connected. */
export async function waitUntilHealthy(baseUrl: string, cancelled: AbortSignal): Promise<void> {
  const deadline = Deadline.after(HEALTHY_WITHIN_MS, `${baseUrl}/healthz to be ok`, cancelled)
  while (!(await isHealthy(baseUrl, deadline))) {
    deadline.throwIfOver()
    await delay(POLL_MS)
  }
}

export async function waitUntilListening(edgeUrl: string, cancelled: AbortSignal): Promise<void> {
  const deadline = Deadline.after(HEALTHY_WITHIN_MS, `${edgeUrl}/healthz to be ok`, cancelled)
  const isOk = () =>
    fetch(`${edgeUrl}/healthz`, { signal: deadline.signal }).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isOk())) {
    deadline.throwIfOver()
    await delay(POLL_MS)
  }
}

async function isHealthy(baseUrl: string, deadline: Deadline): Promise<boolean> {
  try {
    const answer = await fetch(`${baseUrl}/healthz`, { signal: deadline.signal })
    const body = health.safeParse(await answer.json())
    return answer.status === 200 && body.success && body.data.checks.agents === 'ok'
  } catch {
    return false // it does not listen yet
  }
}
