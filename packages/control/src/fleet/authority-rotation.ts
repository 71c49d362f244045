import { X509Certificate } from 'node:crypto'
import { type FleetAuthorityState, MAX_WAITED_SHOWN } from '@offshoot/contract/fleet-authority'
import { Semaphore } from '@offshoot/kit/semaphore'
import { type Actor, serviceActor } from '../platform/audit/actor.ts'
import { recordAuditEvent } from '../platform/audit/audit-statements.ts'
import type { Queryable } from '../platform/db/statement.ts'
import { transaction } from '../platform/db/transaction.ts'
import type { FleetAuthorityRow } from './fleet-authority-statements.ts'
import { advanceAuthority, hostsToLookAt, noteShownVersion, waitedFor } from './fleet-authority-statements.ts'
import type { FleetContext } from './fleet-context.ts'
import { shownVersion } from './shown-version.ts'

/** Milliseconds before its end at which an authority is replaced without being asked. */
const REPLACE_BEFORE_MS = 365 * 24 * 60 * 60_000
/** Milliseconds between two looks while somebody is waited for. */
const LOOK_MS = 5_000
/** Connections that one look opens at the same time. */
const LOOKS_AT_ONCE = 32

type Context = Pick<FleetContext, 'database' | 'fleetAuthority' | 'joinedHosts'>

/**
 * Introduces a new authority, which replaces the present one step by step.
 * @returns the version; `null`: there is none, or one is being replaced
 */
export async function beginRotation({ fleetAuthority }: Context, client: Queryable, actor: Actor) {
  const version = await fleetAuthority.introduce(client)
  if (version !== null) await record(client, actor, 'authority.rotation_begun', version)
  return version
}

/**
 * Takes the next step. @param reason of an operator who waits for nobody any longer
 * @returns the version; `null`: no authority is being replaced, or another process has just taken this step
 */
export async function advance(
  client: Queryable,
  actor: Actor,
  { from, reason }: { readonly from: number; readonly reason?: string },
): Promise<number | null> {
  const [row] = await advanceAuthority(client, from)
  if (row === undefined) return null
  await record(client, actor, 'authority.advanced', row.version, reason === undefined ? {} : { reason })
  return row.version
}

function record(
  client: Queryable,
  actor: Actor,
  action: 'authority.rotation_begun' | 'authority.advanced',
  version: number,
  details: Record<string, unknown> = {},
) {
  return recordAuditEvent(client, actor, { workspaceId: null, action, target: String(version), details })
}

/**
 * One round of the rotation: looks at the certificates of the hosts that have not shown a new one, and takes the next
 * step if nobody is waited for. Its state is in the rows, so a later round of any process goes on after a crash.
 * @returns milliseconds until the next round; `null`: nobody is waited for
 */
export async function keepAuthority(context: Context, requestId: string): Promise<number | null> {
  const { database, fleetAuthority } = context
  const row = await fleetAuthority.row()
  if (row === undefined) return null
  const actor = serviceActor(requestId)
  if (row.other_certificate === null && endOf(row.certificate) - Date.now() < REPLACE_BEFORE_MS) {
    await transaction(database.pool, (client) => beginRotation(context, client, actor))
    return LOOK_MS
  }
  await lookAtHosts(context, row.version)
  const isWaiting = (await waitedFor(database.pool, row.version, 1)).length > 0
  if (row.other_certificate === null) return isWaiting ? LOOK_MS : null
  if (!isWaiting) await transaction(database.pool, (client) => advance(client, actor, { from: row.version }))
  return LOOK_MS
}

async function lookAtHosts({ database, joinedHosts }: Context, version: number): Promise<void> {
  const hosts = await hostsToLookAt(database.pool, version)
  const places = new Semaphore(LOOKS_AT_ONCE, Number.POSITIVE_INFINITY)
  await Promise.all(
    hosts.map(async ({ id }) => {
      const peer = joinedHosts.peerOf(id)
      const shown = peer === undefined ? null : await places.run(() => shownVersion(peer))
      if (shown !== null) await noteShownVersion(database.pool, id, shown)
    }),
  )
}

/** As operators see it. */
export async function authorityState({ database, fleetAuthority }: Context): Promise<FleetAuthorityState> {
  const row = await fleetAuthority.row()
  if (row === undefined) return { step: 'settled', version: 0, current: null, other: null, waiting: 0, waits_for: [] }
  const waited = await waitedFor(database.pool, row.version, MAX_WAITED_SHOWN)
  return {
    step: stepOf(row),
    version: row.version,
    current: present(row.certificate),
    other: row.other_certificate === null ? null : present(row.other_certificate),
    waiting: waited[0]?.total ?? 0,
    waits_for: waited.map(({ kind, id, is_lost: isLost }) => ({ kind, id, is_lost: isLost })),
  }
}

function stepOf({ other_certificate: other, is_other_new: isNew }: FleetAuthorityRow): FleetAuthorityState['step'] {
  if (other === null) return 'settled'
  return isNew ? 'introducing' : 'replacing'
}

function present(pem: string) {
  const { fingerprint256, validToDate } = new X509Certificate(pem)
  return { sha256: fingerprint256.replaceAll(':', '').toLowerCase(), expires_at: validToDate.toISOString() }
}

function endOf(pem: string): number {
  return new X509Certificate(pem).validToDate.getTime()
}
