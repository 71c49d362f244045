import { Logger, runMigrations } from 'graphile-worker'
import { type Migration, Migrator } from 'kysely/migration'
import type { Database } from './database.ts'
import * as accounts from './migrations/0001-accounts.ts'
import * as sandboxes from './migrations/0002-sandboxes.ts'
import * as retiredAgents from './migrations/0003-retired-agents.ts'
import * as lifecycle from './migrations/0004-lifecycle.ts'
import * as egress from './migrations/0005-egress.ts'
import * as ports from './migrations/0006-ports.ts'
import * as people from './migrations/0007-people.ts'
import * as idempotentRequests from './migrations/0008-idempotent-requests.ts'
import * as limits from './migrations/0009-limits.ts'
import * as metering from './migrations/0010-metering.ts'
import * as volumes from './migrations/0011-volumes.ts'
import * as templates from './migrations/0012-templates.ts'
import * as databases from './migrations/0013-databases.ts'
import * as apps from './migrations/0014-apps.ts'
import * as gitProvider from './migrations/0015-git-provider.ts'
import * as appDomains from './migrations/0016-app-domains.ts'
import * as databaseBackups from './migrations/0017-database-backups.ts'
import * as appInstances from './migrations/0019-app-instances.ts'
import * as databaseArchives from './migrations/0020-database-archives.ts'
import * as databaseDisks from './migrations/0021-database-disks.ts'
import * as appTrees from './migrations/0023-app-trees.ts'
import * as appCertificates from './migrations/0024-app-certificates.ts'
import * as appPreviews from './migrations/0025-app-previews.ts'
import * as leases from './migrations/0027-leases.ts'
import * as snapshotManagers from './migrations/0030-snapshot-managers.ts'
import * as removedObjects from './migrations/0031-removed-objects.ts'
import * as overageDays from './migrations/0032-overage-days.ts'
import * as planChanges from './migrations/0034-plan-changes.ts'
import * as lists from './migrations/0035-lists.ts'
import * as secondFactor from './migrations/0037-second-factor.ts'
import * as sealingKeys from './migrations/0038-sealing-keys.ts'
import * as jobs from './migrations/0039-jobs.ts'
import * as auditTargets from './migrations/0040-audit-targets.ts'
import * as operators from './migrations/0041-operators.ts'
import * as onTimeout from './migrations/0042-on-timeout.ts'
import * as sandboxActors from './migrations/0043-sandbox-actors.ts'
import * as namesAndTimes from './migrations/0044-names-and-times.ts'
import * as workspaceEvents from './migrations/0045-workspace-events.ts'
import * as ssh from './migrations/0046-ssh.ts'
import * as privatePreviews from './migrations/0047-private-previews.ts'
import * as webhooks from './migrations/0048-webhooks.ts'
import * as usedCodes from './migrations/0051-used-codes.ts'
import * as signInLinks from './migrations/0052-sign-in-links.ts'
import * as changes from './migrations/0053-changes.ts'
import * as lineage from './migrations/0054-lineage.ts'
import * as cordonedHosts from './migrations/0055-cordoned-hosts.ts'
import * as fleetAuthority from './migrations/0065-fleet-authority.ts'
import * as hostTokens from './migrations/0066-host-tokens.ts'
import * as lostHosts from './migrations/0067-lost-hosts.ts'
import * as hostLabels from './migrations/0068-host-labels.ts'
import * as sandboxMoves from './migrations/0069-sandbox-moves.ts'
import * as sandboxCopies from './migrations/0070-sandbox-copies.ts'
import * as copyIncarnations from './migrations/0071-copy-incarnations.ts'
import * as hostLeases from './migrations/0072-host-leases.ts'
import * as ownCertificate from './migrations/0074-own-certificate.ts'
import * as storedArchives from './migrations/0075-stored-archives.ts'
import * as recoveredDatabases from './migrations/0076-recovered-databases.ts'
import * as replacedVersions from './migrations/0078-replaced-versions.ts'
import * as snapshotHosts from './migrations/0080-snapshot-hosts.ts'
import * as recoveriesAfterLeases from './migrations/0081-recoveries-after-leases.ts'
import * as artifacts from './migrations/0083-artifacts.ts'
import * as templatesOnHosts from './migrations/0084-templates-on-hosts.ts'
import * as authorityRotation from './migrations/0085-authority-rotation.ts'
import * as dueJobs from './migrations/0086-due-jobs.ts'
import * as recordedSegments from './migrations/0087-recorded-segments.ts'

const QUIET = new Logger(() => () => undefined)

/** Append-only: never edit, rename or reorder a released migration. */
const MIGRATIONS: Record<string, Migration> = {
  '0001-accounts': accounts,
  '0002-sandboxes': sandboxes,
  '0003-retired-agents': retiredAgents,
  '0004-lifecycle': lifecycle,
  '0005-egress': egress,
  '0006-ports': ports,
  '0007-people': people,
  '0008-idempotent-requests': idempotentRequests,
  '0009-limits': limits,
  '0010-metering': metering,
  '0011-volumes': volumes,
  '0012-templates': templates,
  '0013-databases': databases,
  '0014-apps': apps,
  '0015-git-provider': gitProvider,
  '0016-app-domains': appDomains,
  '0017-database-backups': databaseBackups,
  '0019-app-instances': appInstances,
  '0020-database-archives': databaseArchives,
  '0021-database-disks': databaseDisks,
  '0023-app-trees': appTrees,
  '0024-app-certificates': appCertificates,
  '0025-app-previews': appPreviews,
  '0027-leases': leases,
  '0030-snapshot-managers': snapshotManagers,
  '0031-removed-objects': removedObjects,
  '0032-overage-days': overageDays,
  '0034-plan-changes': planChanges,
  '0035-lists': lists,
  '0037-second-factor': secondFactor,
  '0038-sealing-keys': sealingKeys,
  '0039-jobs': jobs,
  '0040-audit-targets': auditTargets,
  '0041-operators': operators,
  '0042-on-timeout': onTimeout,
  '0043-sandbox-actors': sandboxActors,
  '0044-names-and-times': namesAndTimes,
  '0045-workspace-events': workspaceEvents,
  '0046-ssh': ssh,
  '0047-private-previews': privatePreviews,
  '0048-webhooks': webhooks,
  '0051-used-codes': usedCodes,
  '0052-sign-in-links': signInLinks,
  '0053-changes': changes,
  '0054-lineage': lineage,
  '0055-cordoned-hosts': cordonedHosts,
  '0065-fleet-authority': fleetAuthority,
  '0066-host-tokens': hostTokens,
  '0067-lost-hosts': lostHosts,
  '0068-host-labels': hostLabels,
  '0069-sandbox-moves': sandboxMoves,
  '0070-sandbox-copies': sandboxCopies,
  '0071-copy-incarnations': copyIncarnations,
  '0072-host-leases': hostLeases,
  '0074-own-certificate': ownCertificate,
  '0075-stored-archives': storedArchives,
  '0076-recovered-databases': recoveredDatabases,
  '0078-replaced-versions': replacedVersions,
  '0080-snapshot-hosts': snapshotHosts,
  '0081-recoveries-after-leases': recoveriesAfterLeases,
  '0083-artifacts': artifacts,
  '0084-templates-on-hosts': templatesOnHosts,
  '0085-authority-rotation': authorityRotation,
  '0086-due-jobs': dueJobs,
  '0087-recorded-segments': recordedSegments,
}

/**
 * Migrates the schema of the job engine, then ours, whose triggers add jobs. Processes that start together wait for one
 * another, because the migrator holds an advisory lock.
 * @param until name of the last migration, for tests of later ones
 */
export async function migrate({ pool, db }: Pick<Database, 'pool' | 'db'>, until?: string): Promise<void> {
  await runMigrations({ pgPool: pool, logger: QUIET })
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...(await laterMigrations(pool)), ...MIGRATIONS }) },
    // A migration's number is chosen before its work is done, so a lower number may be released later. Migrations that
    // are developed at the same time do not depend on one another.
    allowUnorderedMigrations: true,
  })
  const { error } = await (until === undefined ? migrator.migrateToLatest() : migrator.migrateTo(until))
  if (error !== undefined) throw new Error('migration failed', { cause: error })
}

/**
 * Migrations of a later version, which has used this database before a rollback or uses it now. Each version works with
 * the schema of the next one (docs/adr/0055-upgrades.md). The migrator refuses names that it does not know.
 */
async function laterMigrations(pool: Database['pool']): Promise<Record<string, Migration>> {
  const { rows: found } = await pool.query<{ name: string | null }>(
    `select to_regclass('kysely_migration')::text as name`,
  )
  if (found[0]?.name == null) return {}
  const { rows } = await pool.query<{ name: string }>('select name from kysely_migration')
  const later = rows.filter(({ name }) => !(name in MIGRATIONS))
  return Object.fromEntries(later.map(({ name }) => [name, { up: async () => undefined }]))
}
