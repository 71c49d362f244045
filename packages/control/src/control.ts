import type { ControlConfig } from '@offshoot/contract/process-config'
import type { Logger } from 'pino'
import type { BackupTaker } from './databases/take-backup.ts'
import { Fleet } from './agents/fleet.ts'
import { forgetOldRemovals, ownCluster } from './agents/reconcile-statements.ts'
import { certificateOrders } from './app-certificates/certificate-orders.ts'
import { removeOldPulls } from './app-previews/preview-statements.ts'
import { DnsTexts } from './app-domains/dns-texts.ts'
import { AppChanges } from './apps/app-changes.ts'
import { deletedApps } from './apps/remove-app.ts'
import type { EventStore } from './analytics/event-store.ts'
import { PostgresEvents } from './analytics/postgres-events.ts'
import { removeOldEntries } from './audit/audit-statements.ts'
import { Periodic, type PeriodicWork } from './background/periodic.ts'
import { Deployer } from './deploying/deployer.ts'
import { type GitCredentials, NO_CREDENTIALS } from './deploying/git-credentials.ts'
import { replaceLostVersions } from './deploying/replace-lost.ts'
import { settleOldVersions, unnamedSandboxes } from './deploying/old-versions.ts'
import { OpenStreams } from './http/proxy/open-streams.ts'
import { GitProvider } from './gitprovider/git-provider.ts'
import { removeOldGitRows } from './gitprovider/git-provider-statements.ts'
import { installationCredentials } from './gitprovider/installation-credentials.ts'
import { Payments } from './billing/payments.ts'
import { reportOverage } from './billing/report-overage.ts'
import { CreditKeeper } from './billing/credit-keeper.ts'
import { liftedSandboxes, unpaidSandboxes } from './billing/credit-pauses.ts'
import { type Database, openDatabase } from './db/database.ts'
import { migrate } from './db/migrate.ts'
import { ProcessLock } from './db/process-lock.ts'
import { Sweeps } from './db/sweeps.ts'
import { Broker } from './databases/broker/broker.ts'
import { Connections } from './databases/broker/connections.ts'
import { removeOldProofs } from './databases/proof-statements.ts'
import { createMetrics, type Metrics } from './http/metrics.ts'
import { type Accounts, createAccounts } from './identity/accounts.ts'
import { accountsSecret } from './identity/accounts-secret.ts'
import { FailedAttempts } from './identity/failed-attempts.ts'
import { JwtVerifier } from './identity/jwt-verifier.ts'
import { KeyUsage } from './identity/key-usage.ts'
import { KnownKeys } from './identity/known-keys.ts'
import { pruneCreates } from './limits/quota-statements.ts'
import { PostgresBuckets } from './limits/postgres-buckets.ts'
import { RateLimiter } from './limits/rate-limiter.ts'
import { RedisBuckets } from './limits/redis-buckets.ts'
import { TurnsByWorkspace } from './limits/turns-by-workspace.ts'
import { removeOldRequests } from './idempotency/idempotency-statements.ts'
import { Seal } from './identity/seal.ts'
import { leavingMails } from './mail/leaving-mails.ts'
import { mailCarrier } from './mail/mail-carrier.ts'
import type { Mail } from './mail/mail.ts'
import { removeUnsendable } from './mail/mail-statements.ts'
import { Outbox } from './mail/outbox.ts'
import { emptiedOrgs } from './orgs/emptied-orgs.ts'
import { removeOldInvitations } from './orgs/invitation-statements.ts'
import { OperatorKey } from './operators/operator-key.ts'
import { settleStorage } from './metering/settle-storage.ts'
import { settleMeters } from './metering/settle-meters.ts'
import { dueBackups } from './reaping/due-backups.ts'
import { abandonedDatabases } from './reaping/abandoned-databases.ts'
import { expiredSandboxes } from './reaping/expired-sandboxes.ts'
import { Reaper } from './reaping/reaper.ts'
import { unusedSnapshots } from './reaping/unused-snapshots.ts'
import { settleBuilds } from './templates/settle-builds.ts'
import { SandboxPlaces } from './sandboxes/sandbox-places.ts'
import { SandboxReads } from './sandboxes/sandbox-reads.ts'
import { replaceUnhealthy } from './scaling/instance-health.ts'
import { oldTrees, settleTrees } from './trees/settle-trees.ts'
import { Scaler } from './scaling/scaler.ts'
import { settleInstances } from './scaling/settle-instances.ts'

/** What a control process is made of; every route and job is given it. */
export interface Control {
  readonly config: ControlConfig
  readonly log: Logger
  readonly database: Database
  readonly lock: ProcessLock
  readonly fleet: Fleet
  /** Of the last 90 days. */
  readonly events: EventStore
  readonly accounts: Accounts
  readonly outbox: Outbox
  /** Of answers that idempotent requests are given again. */
  readonly answers: Seal
  /** Of the variables of apps. */
  readonly appSecrets: Seal
  /** Of the domains of apps. */
  readonly dnsTexts: DnsTexts
  /** Of the keys of certificates. */
  readonly certificateKeys: Seal
  /** Of what opens databases. */
  readonly databaseSecrets: Seal
  /** To databases. */
  readonly brokerConnections: Connections
  readonly broker: Broker
  readonly jwt: JwtVerifier
  readonly keys: KnownKeys
  readonly failures: FailedAttempts
  readonly operatorKey: OperatorKey
  readonly places: SandboxPlaces
  readonly reads: SandboxReads
  readonly metrics: Metrics
  readonly rate: RateLimiter
  /** `null` without a payment provider. */
  readonly payments: Payments | null
  /** Streams to callers that nothing ends by itself. */
  readonly openStreams: OpenStreams
  readonly deployer: Deployer
  readonly scaler: Scaler
  readonly appChanges: AppChanges
  /** `null` where the operator has set none up. */
  readonly gitProvider: GitProvider | null
  readonly gitCredentials: GitCredentials
  /** Admissions of new sandboxes. */
  readonly creates: TurnsByWorkspace
  stop(): Promise<void>
}

export async function startControl(config: ControlConfig, log: Logger): Promise<Control> {
  const database = openDatabase(config.database, (error) => log.warn({ err: error }, 'idle database connection broke'))
  await migrate(database.db)
  const secret = await accountsSecret(config.data_dir)
  const outbox = new Outbox(new Seal(secret, 'mails'))
  const sendMail = (mail: Mail) => outbox.put(database.pool, mail)
  const accounts = await createAccounts({ database, config, secret, sendMail, log })
  const lock = await ProcessLock.take(config.database)
  const events = new PostgresEvents(database)
  await events.sweep()
  const clusterId = await ownClusterId(database.pool)
  const fleet = new Fleet({ agents: config.agents, clusterId, database, lock, events, log })
  const databaseSecrets = new Seal(secret, 'databases')
  const brokerConnections = new Connections(fleet, databaseSecrets)
  const certificateKeys = new Seal(secret, 'certificates')
  const ending = new AbortController()
  const ordering = { pool: database.pool, seal: certificateKeys, lock, log, stopped: ending.signal }
  const keyUsage = new KeyUsage(database.pool, log)
  const reapers = startReapers({ fleet, database, lock, log }, log)
  const mails = new Reaper(leavingMails(database.pool, outbox, mailCarrier(config, log)), log)
  const credit = new CreditKeeper({ database, fleet, outbox, log })
  const sweeps = new Sweeps(database.pool, log, [
    removeOldEntries,
    removeUnsendable,
    removeOldInvitations,
    removeOldRequests,
    removeOldGitRows,
    removeOldPulls,
    removeOldProofs,
    forgetOldRemovals,
  ])
  const payments = config.stripe === undefined ? null : new Payments(config.stripe, config.public_url)
  const orders =
    config.acme === undefined ? [] : [new Reaper(certificateOrders({ ...ordering, settings: config.acme }), log)]
  const jobs = [...reapers, ...orders, mails, ...startBackground({ database, fleet, events, credit, payments }, log)]
  const gitProvider = config.github === undefined ? null : new GitProvider(config.github)
  const deployer = new Deployer({
    pool: database.pool,
    lock,
    log,
    isReady: () => fleet.reachable.length > 0,
  })
  const scaler = new Scaler(log)
  const appChanges = new AppChanges(config.database, log)
  const { redis_url: redisUrl } = config.limits
  const redis = redisUrl === undefined ? null : new RedisBuckets(redisUrl, database.pool, log)
  const stop = async () => {
    ending.abort()
    redis?.close()
    await deployer.stop()
    await scaler.stop()
    await appChanges.stop()
    for (const job of jobs) job.stop()
    await brokerConnections.close()
    await fleet.stop()
    // Their calls to agents have ended with the fleet.
    await Promise.all(jobs.map((job) => job.finished()))
    await sweeps.stop()
    await keyUsage.stop()
    await lock.release()
    await database.close()
  }
  const jwt = new JwtVerifier(database.pool, config.public_url, config.jwt_issuers)
  const metrics = createMetrics(database, fleet)
  const keys = new KnownKeys(database.pool, keyUsage)
  const places = new SandboxPlaces(database.pool)
  const failures = new FailedAttempts()
  const operatorKey = new OperatorKey(config.operator_key_sha256)
  const { rate_burst: burst, rate_per_second: perSecond } = config.limits
  const rate = new RateLimiter(redis ?? new PostgresBuckets(database.pool), { burst, perSecond })
  const creates = new TurnsByWorkspace()
  return {
    config,
    log,
    database,
    lock,
    fleet,
    events,
    accounts,
    outbox,
    answers: new Seal(secret, 'answers'),
    appSecrets: new Seal(secret, 'apps'),
    certificateKeys,
    dnsTexts: new DnsTexts(config.dns_servers),
    databaseSecrets,
    brokerConnections,
    broker: new Broker(brokerConnections),
    jwt,
    keys,
    failures,
    operatorKey,
    places,
    reads: new SandboxReads(database.pool),
    metrics,
    rate,
    payments,
    openStreams: new OpenStreams(),
    deployer,
    scaler,
    appChanges,
    gitProvider,
    gitCredentials: gitProvider === null ? NO_CREDENTIALS : installationCredentials(database.pool, gitProvider),
    creates,
    stop,
  }
}

async function ownClusterId(pool: Database['pool']): Promise<string> {
  const [cluster] = await ownCluster(pool)
  if (cluster === undefined) throw new Error('the database has no cluster id')
  return cluster.id
}

function startReapers(remover: BackupTaker, log: Logger) {
  return [
    new Reaper(expiredSandboxes(remover), log),
    new Reaper(abandonedDatabases(remover), log),
    new Reaper(dueBackups(remover), log),
    new Reaper(unusedSnapshots(remover), log),
    new Reaper(emptiedOrgs(remover), log),
    new Reaper(deletedApps(remover), log),
    new Reaper(unnamedSandboxes(remover), log),
    new Reaper(oldTrees(remover), log),
    new Reaper(unpaidSandboxes(remover), log),
    new Reaper(liftedSandboxes(remover), log),
  ]
}

interface Background extends Pick<Control, 'database' | 'fleet' | 'events' | 'payments'> {
  readonly credit: CreditKeeper
}

function startBackground({ database, fleet, events, credit, payments }: Background, log: Logger) {
  const { pool } = database
  const work: PeriodicWork[] = [
    { what: 'look at credit', everyMs: 2_000, run: () => credit.look() },
    { what: 'settling meters', everyMs: 60_000, run: () => settleMeters(pool) },
    { what: 'settling builds', everyMs: 1_000, run: () => settleBuilds({ database, fleet }, log) },
    { what: 'settling storage', everyMs: 30_000, run: () => settleStorage(pool) },
    { what: 'report of overage', everyMs: 3_600_000, run: () => reportOverage({ database, payments }) },
    { what: 'sweep of events', everyMs: 3_600_000, run: () => events.sweep() },
    { what: 'old versions of apps', everyMs: 1_000, run: () => settleOldVersions({ database, fleet }, log) },
    { what: 'installed trees of apps', everyMs: 1_000, run: () => settleTrees({ database, fleet }, log) },
    { what: 'further instances of apps', everyMs: 1_000, run: () => settleInstances({ database, fleet }, log) },
    { what: 'health of instances', everyMs: 5_000, run: () => replaceUnhealthy({ database, fleet }, log) },
    { what: 'lost versions of apps', everyMs: 2_000, run: () => replaceLostVersions(pool, log) },
    { what: 'sweep of creates', everyMs: 600_000, run: () => pruneCreates(pool) },
  ]
  return work.map((each) => new Periodic(each, log))
}
