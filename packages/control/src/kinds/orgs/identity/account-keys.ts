import { symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto'
import type pg from 'pg'
import { statement } from '../../../platform/db/statement.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { Keyring } from '../../../platform/secrets/keyring.ts'

/** Values resealed in one transaction. */
const BATCH = 100
/** Hours for which the public half of an expired signing key stays. Longer than any token lives. */
export const SIGNING_GRACE_HOURS = 25

/** The next token is then signed by a new key, which the accounts library makes. */
export const expireSigningKeys = statement<never, []>(
  'expire-signing-keys',
  `update jwks set "expiresAt" = now() where "expiresAt" is null`,
)

export const removeOldSigningKeys = statement<never, []>(
  'remove-old-signing-keys',
  `delete from jwks where "expiresAt" < now() - interval '${SIGNING_GRACE_HOURS + 1} hours'`,
)

/** The columns that the accounts library encrypts. It stores a signing key as JSON. */
const COLUMNS = [
  ['jwks', 'privateKey', true],
  ['twoFactor', 'secret', false],
  ['twoFactor', 'backupCodes', false],
] as const

const STATEMENTS = COLUMNS.map(([table, column, isJson]) => ({
  isJson,
  // The library writes the version of the key as `$ba$1$…`.
  select: statement<{ id: string; value: string }, [version: number, limit: number]>(
    `old-account-keys-${table}-${column}`,
    `select id, "${column}" as value from "${table}"
     where position('$ba$' || $1::int || '$' in "${column}") = 0 limit $2 for update`,
  ),
  update: statement<never, [id: string, value: string]>(
    `reseal-account-keys-${table}-${column}`,
    `update "${table}" set "${column}" = $2 where id = $1`,
  ),
}))

function secretConfig(keyring: Keyring) {
  const { version, secret } = keyring.current
  return {
    secret,
    secretConfig: {
      keys: new Map(keyring.all.map((key) => [key.version, key.secret])),
      currentVersion: version,
      legacySecret: keyring.secretOf(0) ?? '',
    },
  }
}

/**
 * Gives the accounts library the keys of this process. The library reads them with each request, and has no other way to
 * change them while it runs.
 */
export async function takeKeys(accounts: { readonly $context: Promise<object> }, keyring: Keyring): Promise<void> {
  if (keyring.rows.length > 0) Object.assign(await accounts.$context, secretConfig(keyring))
}

/** As `resealValues`, for what the accounts library encrypts. */
export async function resealAccounts(pool: pg.Pool, keyring: Keyring, signal: AbortSignal): Promise<number> {
  const { version } = keyring.current
  if (version === 0) return 0
  const { secretConfig: key } = secretConfig(keyring)
  let count = 0
  for (const { isJson, select, update } of STATEMENTS) {
    for (let done = BATCH; done === BATCH && !signal.aborted;) {
      done = await transaction(pool, async (client) => {
        const rows = await select(client, version, BATCH)
        for (const { id, value } of rows) {
          const data = await symmetricDecrypt({ key, data: isJson ? (JSON.parse(value) as string) : value })
          const sealed = await symmetricEncrypt({ key, data })
          await update(client, id, isJson ? JSON.stringify(sealed) : sealed)
        }
        return rows.length
      })
      count += done
    }
  }
  return count
}
