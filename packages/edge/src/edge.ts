import type { IncomingMessage } from 'node:http'
import type { EdgeConfig } from '@offshoot/contract/process-config'
import { isTracing, serveTraced } from '@offshoot/kit/otlp/telemetry'
import type { Logger } from 'pino'
import { Admissions } from './access/admissions.ts'
import { OpenVisits } from './access/open-visits.ts'
import { PrivateAccess } from './access/private-access.ts'
import { Agent } from './agents/agent.ts'
import { EdgeCredential } from './agents/edge-credential.ts'
import { AcmeAnswers } from './apps/acme-answers.ts'
import { AppLoad } from './apps/app-load.ts'
import { AppLocations } from './apps/app-locations.ts'
import { followApps } from './apps/follow-apps.ts'
import { LatestApps } from './apps/latest-apps.ts'
import { reportLoad } from './apps/report-load.ts'
import { followAgent } from './agents/follow-agent.ts'
import { SandboxLocations } from './agents/sandbox-locations.ts'
import { openCertificates } from './certificates/certificates.ts'
import { openDatabaseCertificates } from './certificates/database-certificates.ts'
import { DomainCertificates } from './certificates/domain-certificates.ts'
import { Front, type FrontOptions } from './front/front.ts'
import { answerHealth } from './front/health.ts'
import { EdgeIdentity } from './hosts/edge-identity.ts'
import { askRelease } from './hosts/ask-release.ts'
import { followHosts } from './hosts/follow-hosts.ts'
import { SandboxLimits } from './limits/sandbox-limits.ts'
import { AbsentDatabases, type AskDatabase } from './postgres/absent-databases.ts'
import { askControlForDatabase } from './postgres/ask-control-for-database.ts'
import { DatabaseFront, type DatabaseFrontOptions } from './postgres/database-front.ts'
import { GuestPools } from './preview/guest-pools.ts'
import { Preview } from './preview/preview.ts'
import { SshFront, type SshFrontOptions } from './ssh/ssh-front.ts'
import { requestIdOf } from './http/request-id.ts'

export interface Edge {
  readonly front: Front
  /** `null` if the edge serves no databases. */
  readonly databases: DatabaseFront | null
  /** `null` if the edge serves no SSH. */
  readonly ssh: SshFront | null
  /** Closes upgraded connections, which would otherwise stay open forever. */
  endUpgraded(): void
  /** Call it after closing the front. */
  stop(): Promise<void>
}

/** The wiring of the process. */
export async function startEdge(config: EdgeConfig, log: Logger): Promise<Edge> {
  const { suffix, trusts_forwarded: trustsForwarded } = config
  const wakeMs = config.limits.wake_seconds * 1000
  const agents = config.agents.map((agent) => new Agent(agent))
  const locations = new SandboxLocations(agents)
  const pools = new GuestPools({
    connections: config.limits.concurrent,
    wakeMs,
    onPrivate: (id) => locations.markPrivate(id),
    locations,
    findAgain: async (id, signal) => {
      locations.forget(id)
      return (await locations.find(id, '', signal))?.agent ?? null
    },
  })
  locations.onRemoved = (ids) => pools.letGo(ids)
  const limits = new SandboxLimits({
    perSecond: config.limits.requests_per_second,
    concurrent: config.limits.concurrent,
  })
  const apps = new AppLocations()
  const asking =
    config.control === undefined
      ? null
      : { controlUrl: config.control.url, credential: new EdgeCredential(config.control.secret), locations: apps }
  const { public_url: publicUrl } = config.control ?? {}
  const apiName = publicUrl === undefined ? null : new URL(publicUrl).hostname
  if (asking !== null) locations.askRelease = (id) => askRelease(asking, id)
  const admissions = asking === null ? null : new Admissions(asking)
  const visits = admissions === null ? null : new OpenVisits(admissions)
  const access = new PrivateAccess(admissions, publicUrl)
  const load = new AppLoad((id) => locations.known(id)?.status === 'running')
  const stopped = new AbortController()
  const preview = new Preview({
    suffix,
    locations,
    apps,
    access,
    visits,
    load,
    pools,
    limits,
    wakeMs,
    trustsForwarded,
    log,
  })
  const domains = {
    has: (name: string) => apps.findDomain(name) !== undefined,
    certificates: asking === null ? null : new DomainCertificates({ ...asking, log }),
  }
  const certificates = await openCertificates(config, domains, log, stopped.signal)
  const acmeAnswers = asking === null ? null : new AcmeAnswers({ ...asking, apiName })
  const latestApps = asking === null ? null : new LatestApps({ ...asking, suffix })
  const handle: FrontOptions['handle'] = (request, response, expectsContinue) => {
    const serve = () => {
      if (!preview.handle(request, response, expectsContinue)) answerHealth(request, response)
    }
    const isAsking = acmeAnswers?.handle(request, response, serve) === true || latestApps?.ask(request, serve) === true
    if (!isAsking) serve()
  }
  const front = new Front({
    maxConnections: config.limits.connections,
    certificates,
    handle: isTracing() ? traced(handle) : handle,
  })
  const askDatabase: AskDatabase = async (id) => (asking === null ? null : askControlForDatabase(asking, id))
  const databases = databaseFront(config, {
    databases: { locations, absent: new AbsentDatabases(askDatabase) },
    certificates: await openDatabaseCertificates(config, certificates),
    wakeMs,
    log,
  })
  const ssh = asking === null ? null : sshFront(config, { control: asking, locations, wakeMs, log })
  const following = agents.map((agent) => followAgent(agent, locations, log, stopped.signal))
  if (config.control !== undefined) {
    const options = { control: config.control, locations: apps, log }
    following.push(followApps(options, stopped.signal), reportLoad({ ...options, load }, stopped.signal))
  }
  if (asking !== null) {
    const identity = new EdgeIdentity({ ...asking, log })
    following.push(followHosts({ ...asking, identity, locations, log }, stopped.signal))
  }
  if (ssh !== null) following.push(ssh.start(stopped.signal))
  const stop = async () => {
    stopped.abort()
    await Promise.all(following)
    limits.stop()
    visits?.stop()
    await pools.close()
    await Promise.all(agents.map((agent) => agent.close()))
  }
  const endUpgraded = () => {
    preview.endUpgraded()
    databases?.close()
    ssh?.close()
  }
  return { front, databases, ssh, endUpgraded, stop }
}

/** Spans have no path, because the paths of a tenant's app may contain its credentials. */
function traced(handle: FrontOptions['handle']): FrontOptions['handle'] {
  return (request, response, expectsContinue) => {
    // HTTP/2 requests have the members of HTTP/1.1 that spans need.
    const served = { request: request as IncomingMessage, response, requestId: requestIdOf(request) }
    serveTraced(served, () => handle(request, response, expectsContinue))
  }
}

function sshFront(
  { ssh, limits }: EdgeConfig,
  services: Pick<SshFrontOptions, 'control' | 'locations' | 'wakeMs' | 'log'>,
): SshFront | null {
  if (ssh === undefined) return null
  return new SshFront({
    ...services,
    perCaller: ssh.per_caller,
    perAddress: ssh.per_address,
    maxConnections: Math.min(ssh.connections, limits.connections),
    maxChannels: ssh.channels,
    idleMs: ssh.idle_seconds * 1000,
  })
}

function databaseFront(
  { databases, limits }: EdgeConfig,
  location: Pick<DatabaseFrontOptions, 'databases' | 'certificates' | 'wakeMs' | 'log'>,
): DatabaseFront | null {
  if (databases === undefined) return null
  const { suffix, per_database: perDatabase, connections: maxConnections } = databases
  return new DatabaseFront({
    ...location,
    suffix,
    perDatabase,
    maxConnections: Math.min(maxConnections, limits.connections),
  })
}
