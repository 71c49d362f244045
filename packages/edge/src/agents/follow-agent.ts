import { agentRecord } from '@offshoot/contract/agent-api'
import { keepFollowing } from '@offshoot/kit/keep-following'
import { readServerSentEvents } from '@offshoot/kit/server-sent-events'
import type { Logger } from 'pino'
import type { Agent } from './agent.ts'
import type { SandboxLocations } from './sandbox-locations.ts'

/**
 * Keeps `locations` consistent with one agent, until `stopped` aborts.
 *
 *     list → event log from there on, live → connection lost → backoff → list → …
 *
 * While an agent is away, its sandboxes stay known: they keep running, and requests to them wait for the agent.
 */
export function followAgent(
  agent: Agent,
  locations: SandboxLocations,
  log: Logger,
  stopped: AbortSignal,
): Promise<void> {
  const follow = async (onConnected: () => void) => {
    const { last_seq: lastSeq, sandboxes } = await agent.list(stopped)
    locations.replace(agent, sandboxes)
    const events = await agent.events(lastSeq, stopped)
    log.info({ agent: agent.url, sandboxes: sandboxes.length }, 'following')
    onConnected()
    for await (const batch of readServerSentEvents(events)) {
      for (const { data } of batch) locations.apply(agent, agentRecord.parse(JSON.parse(data)))
    }
  }
  const onOutage = (error: unknown) => log.warn({ err: error, agent: agent.url }, 'agent not followed')
  return keepFollowing({ follow, onOutage }, stopped)
}
