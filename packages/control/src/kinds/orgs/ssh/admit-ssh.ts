import { createHash } from 'node:crypto'
import { ApiError } from '@offshoot/contract/errors'
import type { EdgeSshAdmission, EdgeSshRequest } from '@offshoot/contract/edge-ssh'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { Scope } from '@offshoot/contract/scope'
import { fingerprintOf } from '@offshoot/kit/ssh/ssh-public-key'
import { identityOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { setTenant } from '../../../platform/db/tenant-pool.ts'
import type { Caller } from '../../../platform/http/caller.ts'
import { refuseManaged } from '../identity/authorize.ts'
import { liveKey } from '../identity/api-key-statements.ts'
import { membershipsOfUser } from '../identity/membership-statements.ts'
import { ownerOfSandbox } from '../identity/org-statements.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { CLAIMS_EXTENSION, type CertificateClaims, certificateClaims } from './certificate-claims.ts'
import { readProof, type SshProof } from './ssh-proof.ts'
import { sshKeyOfMember, touchSshKey } from './ssh-key-statements.ts'

/** The scope of every route that runs commands in a sandbox. */
const SCOPE: Scope = 'sandboxes:write'

/** Who asks, as the audit log and the limits name it. */
type SshCaller = Pick<Caller, 'method' | 'scopes' | 'isSuspended'> & {
  readonly identity: ReturnType<typeof identityOf>
  /** The registered key; `null`: a certificate. */
  readonly keyId: string | null
}

/**
 * Admits a client to a sandbox by the same checks as a request that runs a command there: membership, the scopes of its
 * credential, the scope of the database or app that owns the sandbox, suspension, the rate limit.
 *
 * With the grant of an earlier admission of the same connection, the certificate may have expired meanwhile, and the
 * admission is neither counted nor audited.
 *
 * @returns `null` for every refusal, so that a client does not learn which sandboxes exist
 * @throws ApiError 429; 502 while the sandbox's agent is unknown
 */
export async function admitSsh(
  control: OrgsContext,
  { signed, signature, ip, client, grant }: EdgeSshRequest,
  requestId: string,
): Promise<EdgeSshAdmission | null> {
  const { database, sshKeys, locations, fleet } = control
  const { pool } = database
  const signedBytes = Buffer.from(signed, 'base64')
  const proof = readProof(signedBytes, Buffer.from(signature, 'base64'), (await sshKeys.get()).authority.publicKey)
  const [owner] = proof === null ? [] : await ownerOfSandbox(pool, proof.sandboxId)
  if (proof === null || owner === undefined) return null
  const { sandboxId, user, key } = proof
  setTenant(owner.workspace_id)
  const location = await locations.find(sandboxId, owner.workspace_id)
  if (location === null || location.status === 'creating' || location.status === 'failed') return null
  const agent = fleet.byId(location.agent_id)
  if (agent === undefined) throw new ApiError('agentUnreachable')
  const session = createHash('sha256').update(signedBytes).digest('base64url')
  const isRenewal = grant !== undefined && (await agent.client.isSshGrant(grant, sandboxId, session))
  if (grant !== undefined && !isRenewal) return null
  const caller = await callerOfProof(control, proof, owner.workspace_id, isRenewal)
  if (caller === null || !isAllowed(caller, location.managed_by)) return null
  const { identity, keyId } = caller
  if (!isRenewal) {
    await control.rate.take(owner.workspace_id)
    if (keyId !== null) await touchSshKey(pool, keyId)
    await recordAuditEvent(
      pool,
      { ...identity, ip, requestId },
      {
        workspaceId: owner.workspace_id,
        action: 'ssh.connected',
        target: sandboxId,
        details: { fingerprint: fingerprintOf(key.blob), certificate: proof.certificate !== null, user, client },
      },
    )
  }
  return {
    sandbox_id: sandboxId,
    user,
    caller: `${identity.type} ${identity.id}`,
    grant: await agent.client.sshGrant(sandboxId, owner.workspace_id, session),
  }
}

function isAllowed(caller: SshCaller, managedBy: Parameters<typeof refuseManaged>[1]): boolean {
  if (caller.isSuspended || (caller.scopes !== null && !caller.scopes.includes(SCOPE))) return false
  try {
    refuseManaged(caller, managedBy, 'write')
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

async function callerOfProof(
  control: OrgsContext,
  { key, certificate }: SshProof,
  workspaceId: WorkspaceId,
  isRenewal: boolean,
): Promise<SshCaller | null> {
  const { pool } = control.database
  if (certificate === null) {
    const rows = await sshKeyOfMember(pool, fingerprintOf(key.blob), workspaceId)
    const row = rows.find(({ blob }) => blob.equals(key.blob))
    return row === undefined ? null : memberOf(control, { userId: row.user_id, keyId: row.id }, workspaceId)
  }
  const now = Date.now() / 1000
  const { validAfter, validBefore, criticalOptions, extensions } = certificate
  const isTimely = now >= validAfter && (now < validBefore || isRenewal)
  const claims = claimsIn(extensions.get(CLAIMS_EXTENSION))
  if (!isTimely || claims === null || criticalOptions.size > 0) return null
  if (claims.method === 'key') return keyCaller(control, claims.prefix, workspaceId)
  const { user_id: userId, session_id: sessionId, workspace_id: only, scopes } = claims
  if (only !== null && only !== workspaceId) return null
  return memberOf(control, { userId, keyId: null, sessionId, issuedAt: validAfter, scopes }, workspaceId)
}

/** Our own authority signed the claims, so a text that cannot be read is one of another release. */
function claimsIn(value: Buffer | undefined): CertificateClaims | null {
  if (value === undefined) return null
  try {
    return certificateClaims.parse(JSON.parse(value.toString()))
  } catch {
    return null
  }
}

interface Member {
  readonly userId: string
  readonly keyId: string | null
  readonly sessionId?: string | null
  /** Seconds since 1970. */
  readonly issuedAt?: number
  readonly scopes?: readonly Scope[] | null
}

async function memberOf(
  { database }: OrgsContext,
  { userId, keyId, sessionId = null, issuedAt, scopes = null }: Member,
  workspaceId: WorkspaceId,
): Promise<SshCaller | null> {
  const rows = await membershipsOfUser(database.pool, userId, sessionId, issuedAt ?? null)
  const row = rows.find((each) => each.workspace_id === workspaceId)
  if (row === undefined) return null
  return { method: 'jwt', scopes, isSuspended: row.is_suspended, identity: { type: 'user', id: userId }, keyId }
}

async function keyCaller(
  { database }: OrgsContext,
  prefix: string,
  workspaceId: WorkspaceId,
): Promise<SshCaller | null> {
  const [row] = await liveKey(database.pool, prefix)
  if (row === undefined || row.workspace_id !== workspaceId) return null
  const { scopes, is_suspended: isSuspended } = row
  return { method: 'key', scopes, isSuspended, identity: { type: 'key', id: prefix }, keyId: null }
}
