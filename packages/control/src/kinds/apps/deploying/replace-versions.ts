/**
 * Replaces live versions that cannot stay where they are: their VM is gone, no control process hears their host, an
 * operator has removed it, or drains it. An app has no volume, so any host can build its commit again.
 *
 *     queued (few at a time) → built like a rollback → live: visitors change over → the old sandboxes are removed
 *
 * Until then the old version stays live. So an app is never away because of a drain, and a host that is back before
 * goes on to serve.
 */
import { randomUUID } from 'node:crypto'
import { APP_TEMPLATE } from '@offshoot/contract/app'
import { candidates, isWilling, mayHaveRoom } from '../../../fleet/placement/candidates.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { lockApp } from '../model/deployment-statements.ts'
import { appendBuildLog } from '../deployments/build-log-statements.ts'
import {
  disownDrainedTrees,
  hasLiveVersions,
  noteUnplacedApps,
  queueReplacement,
  releaseDrainedVersions,
  type ReplaceableVersion,
  replaceableVersions,
} from './replacement-statements.ts'

/** Replacements that are not over, for each host that can take one. */
const AT_ONCE = 4
/** Milliseconds between two rounds: while versions are replaced, and otherwise. */
const BUSY_MS = 500
const IDLE_MS = 2_000

/** @returns milliseconds until the next round; `null`: there are no live versions */
export async function replaceVersions(control: AppsContext): Promise<number | null> {
  const { fleet, database, log } = control
  const { pool } = database
  const hosts = candidates(fleet.agents, APP_TEMPLATE).filter(
    (host) => isWilling(host) && mayHaveRoom(host, APP_TEMPLATE),
  )
  const found = await replaceableVersions(pool, AT_ONCE * Math.max(1, hosts.length), hosts.length > 0)
  for (const version of found) await queue(control, version)
  if (hosts.length === 0) {
    for (const { id } of await noteUnplacedApps(pool))
      log.warn({ app: id }, 'no host can take an app of a drained host')
  }
  for (const { id } of await releaseDrainedVersions(pool)) {
    log.info({ deployment: id }, 'old version removed from a drained host')
    await appendBuildLog(pool, id, 'its host was drained, so its sandbox was removed: a rollback builds it again\n')
  }
  await disownDrainedTrees(pool)
  if (found.length > 0) return BUSY_MS
  return (await hasLiveVersions(pool))[0]?.found === true ? IDLE_MS : null
}

async function queue({ database, log }: AppsContext, version: ReplaceableVersion): Promise<void> {
  const { id: app, deployment_id: deployment, cause } = version
  const queued = await transaction(database.pool, async (client) => {
    const [locked] = await lockApp(client, app)
    const [row] = locked === undefined ? [] : await queueReplacement(client, randomUUID(), app, deployment, cause)
    return row
  })
  if (queued !== undefined) log.warn({ app, cause, host: queued.from_agent }, 'live version of an app is built again')
}
