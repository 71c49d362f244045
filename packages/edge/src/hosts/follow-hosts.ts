import { EDGE_HOSTS_PATH, type EdgeHost, edgeHosts } from '@offshoot/contract/edge-host'
import { keepFollowing } from '@offshoot/kit/keep-following'
import { readServerSentEvents } from '@offshoot/kit/server-sent-events'
import type { Logger } from 'pino'
import { request } from 'undici'
import { Agent } from '../agents/agent.ts'
import type { EdgeCredential } from '../agents/edge-credential.ts'
import { followAgent } from '../agents/follow-agent.ts'
import type { SandboxLocations } from '../agents/sandbox-locations.ts'
import type { EdgeIdentity } from './edge-identity.ts'

const ANSWER_MS = 5_000
/** Milliseconds without a byte, heartbeats included. */
const SILENCE_MS = 45_000

export interface FollowHostsOptions {
  readonly controlUrl: string
  readonly credential: EdgeCredential
  readonly identity: EdgeIdentity
  readonly locations: SandboxLocations
  readonly log: Logger
}

interface Followed {
  readonly host: EdgeHost
  readonly agent: Agent
  readonly leave: () => Promise<void>
}

/**
 * Follows the hosts that have joined, and the log of each, until `stopped` aborts. A host that has been removed is
 * asked nothing more. While control is away, the last known hosts stay.
 */
export async function followHosts(options: FollowHostsOptions, stopped: AbortSignal): Promise<void> {
  const { controlUrl, credential, identity, log } = options
  const known = new Map<string, Followed>()
  const follow = async (onConnected: () => void) => {
    const { statusCode, body } = await request(`${controlUrl}${EDGE_HOSTS_PATH}`, {
      headers: { authorization: `Bearer ${await credential.get()}` },
      headersTimeout: ANSWER_MS,
      bodyTimeout: SILENCE_MS,
      signal: stopped,
    })
    if (statusCode !== 200) throw new Error(`control answered ${statusCode}: ${await body.text()}`)
    onConnected()
    for await (const batch of readServerSentEvents(body)) {
      for (const { data } of batch) await settle(known, edgeHosts.parse(JSON.parse(data)), options)
      if (known.size > 0) identity.keep(stopped)
    }
  }
  await keepFollowing({ follow, onOutage: (error) => log.warn({ err: error }, 'hosts not followed') }, stopped)
  await Promise.all([...known.values()].map((each) => each.leave()))
  await identity.finished()
}

async function settle(
  known: Map<string, Followed>,
  hosts: readonly EdgeHost[],
  options: FollowHostsOptions,
): Promise<void> {
  const wanted = new Map(hosts.map((host) => [host.id, host]))
  for (const [id, { host, leave }] of known) {
    const now = wanted.get(id)
    if (now !== undefined && now.url === host.url && now.secret === host.secret) continue
    known.delete(id)
    await leave()
  }
  for (const [id, host] of wanted) {
    const followed = known.get(id) ?? enter(host, options)
    followed.agent.isLost = host.is_lost === true
    known.set(id, followed)
  }
}

function enter(host: EdgeHost, { identity, locations, log }: FollowHostsOptions): Followed {
  const agent = new Agent({ ...host, host: { id: host.id, identity: identity.tls } })
  const gone = new AbortController()
  locations.addAgent(agent)
  const following = followAgent(agent, locations, log, gone.signal)
  const leave = async () => {
    gone.abort()
    await following
    locations.removeAgent(agent)
    await agent.close()
  }
  return { host, agent, leave }
}
