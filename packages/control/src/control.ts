import type { ControlConfig } from '@offshoot/contract/process-config'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Fleet } from './fleet/fleet.ts'
import { FleetAuthority } from './fleet/fleet-authority.ts'
import { HeldSandboxes } from './fleet/held-sandboxes.ts'
import { JoinedHosts } from './fleet/joined-hosts.ts'
import { addFleetMetrics } from './fleet/fleet-metrics.ts'
import type { AgentHooks } from './fleet/agent-hooks.ts'
import type { Kind } from './fleet/kind.ts'
import { forgetOldRemovals, ownCluster } from './fleet/reconcile-statements.ts'
import { SandboxLocations } from './fleet/sandbox-locations.ts'
import { SandboxReads } from './fleet/sandbox-reads.ts'
import { Deployer } from './kinds/apps/model/deployer.ts'
import { NO_CREDENTIALS } from './kinds/apps/model/git-credentials.ts'
import { DnsTexts } from './kinds/apps/model/dns-texts.ts'
import { GitProvider } from './kinds/apps/model/git-provider.ts'
import { installationCredentials } from './kinds/apps/git-provider/installation-credentials.ts'
import { PreviewPasses } from './kinds/apps/model/preview-passes.ts'
import { Scaler } from './kinds/apps/model/scaler.ts'
import { apps } from './kinds/apps/kind.ts'
import { billing } from './kinds/billing/kind.ts'
import { Broker } from './kinds/databases/broker/broker.ts'
import { Connections } from './kinds/databases/broker/connections.ts'
import { databases } from './kinds/databases/kind.ts'
import { createAccounts } from './kinds/orgs/identity/accounts.ts'
import { ChangeFeed } from './kinds/orgs/identity/change-feed.ts'
import { FailedAttempts } from './kinds/orgs/identity/failed-attempts.ts'
import { JwtVerifier } from './kinds/orgs/identity/jwt-verifier.ts'
import { KeyUsage } from './kinds/orgs/identity/key-usage.ts'
import { SshServiceKeys } from './kinds/orgs/identity/ssh-service-keys.ts'
import { ApiKeyCache } from './kinds/orgs/identity/api-key-cache.ts'
import { orgs } from './kinds/orgs/kind.ts'
import { OperatorKeys } from './kinds/orgs/identity/operator-keys.ts'
import { EventFeed } from './kinds/sandboxes/events/event-feed.ts'
import { PostgresEvents } from './kinds/sandboxes/events/postgres-events.ts'
import { sandboxes } from './kinds/sandboxes/kind.ts'
import { StoredSegments } from './kinds/databases/stored-archives/stored-segments.ts'
import { StoredStreams } from './kinds/sandboxes/model/stored-streams.ts'
import { templates } from './kinds/templates/kind.ts'
import { volumes } from './kinds/volumes/kind.ts'
import { webhooks } from './kinds/webhooks/kind.ts'
import type { WebhooksContext } from './kinds/webhooks/model/webhooks-context.ts'
import { removeOldEntries } from './platform/audit/audit-statements.ts'
import { accountsSecrets } from './platform/secrets/accounts-secret.ts'
import { openDatabase } from './platform/db/database.ts'
import { Notifications } from './platform/db/notifications.ts'
import { migrate } from './platform/db/migrate.ts'
import { ProcessLock } from './platform/db/process-lock.ts'
import { createMetrics } from './platform/http/metrics.ts'
import { OpenStreams } from './platform/http/open-streams.ts'
import { removeOldRequests } from './platform/idempotency/idempotency-statements.ts'
import { addJobMetrics } from './platform/jobs/job-metrics.ts'
import { Jobs } from './platform/jobs/jobs.ts'
import { Periodic } from './platform/jobs/periodic.ts'
import { type Lane, lane } from './platform/jobs/task.ts'
import { PostgresBuckets } from './platform/limits/postgres-buckets.ts'
import { RateLimiter } from './platform/limits/rate-limiter.ts'
import { WorkspaceQueue } from './platform/limits/workspace-queue.ts'
import { Keyring } from './platform/secrets/keyring.ts'
import { leavingMails } from './platform/mail/leaving-mails.ts'
import { mailCarrier } from './platform/mail/mail-carrier.ts'
import { removeUnsendable } from './platform/mail/mail-statements.ts'
import { Outbox } from './platform/mail/outbox.ts'
import { Seal } from './platform/secrets/seal.ts'

/** All services of a control process. */
export interface Control extends WebhooksContext {
  stop(): Promise<void>
}

/** All kinds. Each stands after the kinds that it imports. */
export const KINDS: readonly Kind<Control>[] = [orgs, billing, templates, volumes, sandboxes, databases, apps, webhooks]

/** The handlers with which the kinds apply agents' records and reconcile agents' lists. */
export function agentHooks(control: Control): readonly AgentHooks[] {
  return KINDS.flatMap(({ agents }) => agents?.(control) ?? [])
}

/**
 * Builds the services, then starts the jobs. It does not listen: `server.ts` does.
 * @param furtherLanes jobs that only the process itself runs, no test
 */
export async function startControl(
  config: ControlConfig,
  log: Logger,
  furtherLanes: (control: Control) => readonly Lane[] = () => [],
): Promise<Control> {
  const database = openDatabase(config.database, (error) => log.warn({ err: error }, 'idle database connection broke'))
  const { pool } = database
  await migrate(database)
  const keyring = await Keyring.open(pool, await accountsSecrets(config.data_dir))
  const outbox = new Outbox(new Seal(keyring, 'mails'))
  const accounts = await createAccounts({
    database,
    config,
    keyring,
    sendMail: (mail) => outbox.put(pool, mail),
    log,
  })
  const lock = await ProcessLock.take(config.database)
  const events = new PostgresEvents(database)
  await events.sweep()
  const eventFeed = new EventFeed(pool, log)
  const [cluster] = await ownCluster(pool)
  if (cluster === undefined) throw new Error('the database has no cluster id')
  const fleetSeal = new Seal(keyring, 'fleet')
  const fleetAuthority = new FleetAuthority(pool, fleetSeal)
  const { agents, lost_after_seconds: lostAfterSeconds } = config
  const hasLeases = config.database_leases
  const fleet = new Fleet({ agents, clusterId: cluster.id, database, lock, lostAfterSeconds, hasLeases, log })
  const held = new HeldSandboxes(pool, fleet)
  fleet.directory.onHeld = (id, requestId) => held.release(id, requestId)
  const keyUsage = new KeyUsage(pool, log)
  const databaseSecrets = new Seal(keyring, 'databases')
  const brokerConnections = new Connections(fleet, databaseSecrets)
  const gitProvider = config.github === undefined ? null : new GitProvider(config.github)
  const { redis_url: redisUrl, rate_burst: burst, rate_per_second: perSecond } = config.limits
  // Redis's client is a sixth of the modules, and most services have no Redis.
  const redis =
    redisUrl === undefined
      ? null
      : new (await import('./platform/limits/redis-buckets.ts')).RedisBuckets(redisUrl, pool, log)
  // The same holds for the payment provider's client.
  const payments =
    config.stripe === undefined
      ? null
      : new (await import('./kinds/billing/model/payments.ts')).Payments(config.stripe, config.public_url)
  const notifications = new Notifications(config.database, log)
  const stopping = new AbortController()
  const context: WebhooksContext = {
    config,
    log,
    database,
    notifications,
    lock,
    outbox,
    metrics: createMetrics(database),
    rate: new RateLimiter(redis ?? new PostgresBuckets(pool), { burst, perSecond }),
    openStreams: new OpenStreams(),
    stopping: stopping.signal,
    keyring,
    answers: new Seal(keyring, 'answers'),
    fleet,
    fleetAuthority,
    joinedHosts: new JoinedHosts({ pool, seal: fleetSeal, authority: fleetAuthority, fleet, lock }),
    fleetSeal,
    locations: new SandboxLocations(pool, notifications),
    held,
    reads: new SandboxReads(pool),
    accounts,
    jwt: new JwtVerifier(pool, config.public_url, config.jwt_issuers),
    keys: new ApiKeyCache(pool, keyUsage),
    failures: new FailedAttempts(),
    operatorKeys: await OperatorKeys.open(pool, config.operator_key_sha256, log),
    sshKeys: new SshServiceKeys(pool, new Seal(keyring, 'ssh')),
    changeFeed: new ChangeFeed(notifications),
    payments,
    creates: new WorkspaceQueue(),
    events,
    storedStreams: config.objects === undefined ? null : new StoredStreams(config.objects),
    eventFeed,
    storedSegments: config.objects === undefined ? null : new StoredSegments(config.objects),
    databaseSecrets,
    brokerConnections,
    broker: new Broker(brokerConnections),
    previewPasses: new PreviewPasses(keyring),
    appSecrets: new Seal(keyring, 'apps'),
    certificateKeys: new Seal(keyring, 'certificates'),
    webhookSecrets: new Seal(keyring, 'webhooks'),
    dnsTexts: new DnsTexts(config.dns_servers),
    deployer: new Deployer({ pool, lock, log, isReady: () => fleet.reachable.length > 0 }),
    scaler: new Scaler(log),
    edgeStreams: new Set(),
    gitProvider,
    gitCredentials: gitProvider === null ? NO_CREDENTIALS : installationCredentials(pool, gitProvider),
  }
  const stop = async () => {
    stopping.abort()
    jobs.stop()
    for (const refresh of refreshes) refresh.stop()
    redis?.close()
    await eventFeed.stop()
    await context.deployer.stop()
    await context.scaler.stop()
    await notifications.stop()
    await brokerConnections.close()
    await fleet.stop()
    // `fleet.stop()` has already ended the jobs' calls to agents, so this wait is short.
    await Promise.all([jobs, ...refreshes].map((each) => each.finished()))
    await keyUsage.stop()
    await lock.release()
    await database.close()
  }
  const control: Control = { ...context, stop }
  addFleetMetrics(control.metrics.registry, control)
  for (const { addMetrics } of KINDS) addMetrics?.(control.metrics.registry, control)
  const sweeps = [
    removeUnsendable,
    removeOldRequests,
    forgetOldRemovals,
    (on: pg.Pool) => removeOldEntries(on, config.audit_days),
    ...KINDS.flatMap((kind) => kind.sweeps ?? []),
  ]
  const jobs = new Jobs({
    address: config.database,
    lock,
    log,
    lanes: [
      lane('mail', [leavingMails(pool, outbox, await mailCarrier(config, log))]),
      lane('objects', [{ name: 'sweep', cron: '* * * * *', run: () => inTurn(sweeps, pool, log) }]),
      ...KINDS.flatMap((kind) => kind.lanes?.(control) ?? []),
      ...furtherLanes(control),
    ],
  })
  const refreshes = KINDS.flatMap((kind) => kind.refreshes?.(control) ?? []).map((work) => new Periodic(work, log))
  addJobMetrics(control.metrics.registry, pool)
  await fleet.rules.refresh()
  // Jobs of an agent's objects end without a result while it is away.
  fleet.start(agentHooks(control), () => jobs.addMissingSoon())
  return control
}

/** Runs all statements, even if some fail. */
async function inTurn(statements: readonly ((pool: pg.Pool) => Promise<unknown>)[], pool: pg.Pool, log: Logger) {
  for (const statement of statements) {
    await statement(pool).catch((error: unknown) => log.warn({ err: error }, 'sweep failed: trying again later'))
  }
}
