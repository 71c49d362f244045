import { ApiError } from '@offshoot/contract/errors'
import { deleteMeBody } from '@offshoot/contract/identity'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { type Actor, actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { type UserCaller, userOf } from '../../../platform/http/caller.ts'
import { closeOrg, markOrgDeleted } from './org-statements.ts'
import type { OrgsContext } from './orgs-context.ts'
import {
  forgetInAuditLog,
  isFreshSession,
  type LeftWorkspaceRow,
  lockWorkspacesOfUser,
  removeUser,
  workspacesLeft,
} from './account-deletion-statements.ts'
import { revokeTokensOfUser } from './api-key-statements.ts'
import { FailedAttempts } from './failed-attempts.ts'
import { lockUser } from './membership-statements.ts'

/** Seconds after a sign-in during which an account may be deleted without its password. */
const FRESH_SECONDS = 300
/** Guesses at the password of one user: at once, and regained per second. */
const GUESSES_AT_ONCE = 5
const GUESSES_PER_SECOND = 1 / 60

/**
 * `DELETE /v1/me`: deletes the account. Workspaces that only the caller owns must be transferred or deleted before. An
 * empty one without other members, such as the first personal workspace, is deleted along with the account.
 */
export function deleteMe(app: FastifyInstance, control: OrgsContext): void {
  const guesses = new FailedAttempts(GUESSES_AT_ONCE, GUESSES_PER_SECOND)
  app.delete('/v1/me', {
    config: {
      credential: 'jwt',
      docs: {
        summary: 'Delete your account',
        tag: 'Identity',
        body: deleteMeBody,
        status: 204,
        errors: ['invalidField', 'signInAgain', 'wrongPassword', 'ownsWorkspaces', 'tooManyFailures'],
      },
    },
    handler: async (request, reply) => {
      const caller = userOf(request)
      const { password } = parseBody(request, deleteMeBody)
      if (password === undefined) await refuseStale(control, caller)
      else await refuseWrong(control, guesses, caller.user.id, password)
      // The log keeps no address of a user who is gone.
      const actor = { ...actorOf(request), ip: null }
      const prefixes = await deleteAccount(control.database.pool, actor, caller.user)
      for (const prefix of prefixes) control.keys.forget(prefix)
      return reply.code(204).send()
    },
  })
}

async function refuseStale({ database }: OrgsContext, { token }: UserCaller): Promise<void> {
  const { sessionId, provenAt } = token
  const [session] = sessionId === null ? [] : await isFreshSession(database.pool, sessionId, FRESH_SECONDS)
  const isFresh = session?.is_fresh ?? (provenAt !== null && provenAt > Date.now() / 1000 - FRESH_SECONDS)
  if (!isFresh) throw new ApiError('signInAgain')
}

async function refuseWrong({ accounts }: OrgsContext, guesses: FailedAttempts, userId: string, password: string) {
  if (guesses.isSpent(userId)) throw new ApiError('tooManyFailures')
  // Counted before the slow comparison, so that concurrent guesses count too.
  guesses.note(userId)
  const context = await accounts.$context
  const account = await context.internalAdapter.findCredentialAccount(userId)
  const hash = account?.password
  if (typeof hash !== 'string' || !(await context.password.verify({ hash, password }))) {
    throw new ApiError('wrongPassword')
  }
}

/** Returns the prefixes of the keys that ended. @throws ApiError 409 */
async function deleteAccount(pool: pg.Pool, actor: Actor, user: UserCaller['user']): Promise<readonly string[]> {
  return transaction(pool, async (client) => {
    const [locked] = await lockUser(client, user.id)
    if (locked === undefined) throw new ApiError('invalidApiToken')
    await lockWorkspacesOfUser(client, user.id)
    const workspaces = await workspacesLeft(client, user.id)
    const kept = workspaces.filter(isKept).map(({ name }) => name)
    if (kept.length > 0) throw new ApiError('ownsWorkspaces', { workspaces: kept })
    const revoked = await revokeTokensOfUser(client, user.id)
    for (const workspace of workspaces) await leave(client, actor, workspace, user.id, revoked)
    await forgetInAuditLog(client, user.id, user.email)
    await removeUser(client, user.id, user.email)
    await recordAuditEvent(client, actor, { workspaceId: null, action: 'account.deleted', target: user.id })
    return revoked.map(({ prefix }) => prefix)
  })
}

/** Whether the user must transfer or delete the workspace first. */
function isKept({ role, other_owners: otherOwners, members, is_used: isUsed }: LeftWorkspaceRow): boolean {
  return role === 'owner' && otherOwners === 0 && (members > 1 || isUsed)
}

async function leave(
  client: pg.PoolClient,
  actor: Actor,
  { id, role, members }: LeftWorkspaceRow,
  userId: string,
  revoked: readonly { readonly prefix: string; readonly workspace_id: string }[],
): Promise<void> {
  if (members === 1) {
    const [deleted] = await markOrgDeleted(client, id)
    await closeOrg(client, id)
    await recordAuditEvent(client, actor, {
      workspaceId: id,
      action: 'org.deleted',
      target: id,
      details: { ...deleted },
    })
    return
  }
  const prefixes = revoked.filter((key) => key.workspace_id === id).map(({ prefix }) => prefix)
  const details = { role, tokens_revoked: prefixes, account_deleted: true }
  await recordAuditEvent(client, actor, { workspaceId: id, action: 'member.removed', target: userId, details })
}
