import { keysAnswer, type KeysAnswer } from '@offshoot/contract/operator'
import type { FastifyInstance } from 'fastify'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { wakeJob } from '../../../platform/jobs/job-statements.ts'
import { finishResealing } from '../../../platform/secrets/keyring-statements.ts'
import { type Keyring, RETIRE_AFTER_SECONDS } from '../../../platform/secrets/keyring.ts'
import { resealValues } from '../../../platform/secrets/reseal.ts'
import { expireSigningKeys, removeOldSigningKeys, resealAccounts, takeKeys } from '../identity/account-keys.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'

const TAG = 'Operators'

/** `GET /v1/admin/keys`, `POST /v1/admin/keys/rotate`: the keys that seal and sign (docs/adr/0024-key-rotation.md). */
export function keyRoutes(app: FastifyInstance, { database, keyring }: OrgsContext): void {
  app.get('/v1/admin/keys', {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: { summary: 'The keys that seal stored secrets', tag: TAG, status: 200, answer: keysAnswer },
    },
    handler: async () => {
      await keyring.refresh()
      return present(keyring)
    },
  })
  app.post('/v1/admin/keys/rotate', {
    config: {
      credential: 'operator',
      operatorRole: 'operator',
      docs: {
        summary: 'Make a new sealing key and a new signing key',
        tag: TAG,
        status: 202,
        answer: keysAnswer,
        errors: ['conflict'],
      },
    },
    handler: async (request, reply) => {
      await transaction(database.pool, async (client) => {
        const { version } = await keyring.rotate(client)
        await expireSigningKeys(client)
        await wakeJob(client, 'keep-keys')
        await recordAuditEvent(client, actorOf(request), {
          workspaceId: null,
          action: 'keys.rotated',
          target: String(version),
        })
      })
      await keyring.refresh()
      return reply.code(202).send(present(keyring))
    },
  })
}

/** Reads the keys into the memory of this process. */
export async function refreshKeys({ keyring, accounts }: Pick<OrgsContext, 'keyring' | 'accounts'>): Promise<void> {
  await keyring.refresh()
  await takeKeys(accounts, keyring)
}

/**
 * One round of the rotation, in any process and at any time: reads the keys, reseals old values in small transactions,
 * and removes old keys when no value names them. An interrupted round is continued by the next one.
 * @returns whether a rotation is under way
 */
export async function keepKeys(
  { database, keyring, accounts }: Pick<OrgsContext, 'database' | 'keyring' | 'accounts'>,
  signal: AbortSignal,
): Promise<boolean> {
  const { pool } = database
  await refreshKeys({ keyring, accounts })
  await removeOldSigningKeys(pool)
  const { version } = keyring.current
  const row = keyring.rows.find((each) => each.version === version)
  // A new key is not the current one until every process has read it.
  if (row === undefined || row.is_resealed) return keyring.rows.some((each) => !each.is_resealed)
  const resealed = (await resealValues(pool, keyring, signal)) + (await resealAccounts(pool, keyring, signal))
  // A value may have been sealed with the older key since. The next round, in which none is found, ends the rotation.
  if (resealed === 0 && !signal.aborted) await finishResealing(pool, version, RETIRE_AFTER_SECONDS)
  return true
}

function present(keyring: Keyring): KeysAnswer {
  const { version: current } = keyring.current
  return {
    current,
    keys: keyring.rows.map(({ version, created_at, active_at, is_resealed: isResealed }) => ({
      version,
      created_at: created_at.toISOString(),
      active_at: active_at.toISOString(),
      is_resealed: isResealed,
    })),
  }
}
