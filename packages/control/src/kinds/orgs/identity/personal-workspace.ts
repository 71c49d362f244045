import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { transaction } from '../../../platform/db/transaction.ts'
import { insertMember, insertWorkspace, lockUser, membershipsOfUser } from './membership-statements.ts'

/** Creates a personal workspace for a user without any. Does nothing if the user has one by now. */
export async function makePersonalWorkspace(pool: pg.Pool, userId: string, userName: string): Promise<void> {
  await transaction(pool, async (client) => {
    const [user] = await lockUser(client, userId)
    if (user === undefined) return
    const memberships = await membershipsOfUser(client, userId, null, null)
    if (memberships.some((membership) => membership.workspace_id !== null)) return
    const slug = `personal-${randomBytes(6).toString('hex')}`
    const [workspace] = await insertWorkspace(client, `${userName}'s workspace`, slug)
    if (workspace === undefined) throw new Error('insert gave no row')
    await insertMember(client, workspace.id, userId, 'owner')
  })
}
