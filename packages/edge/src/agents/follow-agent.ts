import { setTimeout as delay } from 'node:timers/promises'
import { agentRecord } from '@offshoot/contract/agent-api'
import { readServerSentEvents } from '@offshoot/kit/server-sent-events'
import type { Logger } from 'pino'
import type { Agent } from './agent.ts'
import type { Places } from './places.ts'

/** Milliseconds before reconnecting. The first retry is early, because a restarted agent is back soon. */
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 1_000

/**
 * Keeps `places` consistent with one agent, until `stopped` aborts.
 *
 *     list → event log from there on, live → connection lost → backoff → list → …
 *
 * While an agent is away, its sandboxes stay known: they keep running, and requests to them wait for the agent.
 */
export async function followAgent(agent: Agent, places: Places, log: Logger, stopped: AbortSignal): Promise<void> {
  let retryMs = FIRST_RETRY_MS
  let isAway = false
  while (!stopped.aborted) {
    try {
      const { last_seq: lastSeq, sandboxes } = await agent.list(stopped)
      places.replace(agent, sandboxes)
      const events = await agent.events(lastSeq, stopped)
      log.info({ agent: agent.url, sandboxes: sandboxes.length }, 'following')
      retryMs = FIRST_RETRY_MS
      isAway = false
      for await (const batch of readServerSentEvents(events)) {
        for (const { data } of batch) places.apply(agent, agentRecord.parse(JSON.parse(data)))
      }
    } catch (error) {
      // Log once per outage, not per retry.
      if (!stopped.aborted && !isAway) log.warn({ err: error, agent: agent.url }, 'agent not followed')
      isAway = true
    }
    await delay(retryMs, undefined, { signal: stopped }).catch(() => undefined)
    retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)
  }
}
