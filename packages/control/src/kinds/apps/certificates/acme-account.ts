import type { AcmeSettings } from '@offshoot/contract/control-settings'
import { axios, Client, crypto } from 'acme-client'
import type pg from 'pg'
import type { Seal } from '../../../platform/secrets/seal.ts'
import { accountKey, keepAccountKey } from './order-statements.ts'

/** Milliseconds for one answer of the certificate authority. */
const ANSWER_MS = 30_000
/** Polls of the authority's pending work: their number, and the growing milliseconds between two. */
const LOOKS = { backoffAttempts: 12, backoffMin: 500, backoffMax: 10_000 } as const

/**
 * The library's requests have no timeout, and it retries for minutes, although control retries by itself. Its types do
 * not list these settings.
 */
Object.assign(axios.defaults, { timeout: ANSWER_MS })
Object.assign((axios.defaults as unknown as { acmeSettings: object }).acmeSettings, { retryMaxAttempts: 0 })

/**
 * A client for the authority, with the one account that all control processes share. The first use creates the account.
 */
export async function acmeAccount(pool: pg.Pool, seal: Seal, { directory_url: url, email }: AcmeSettings) {
  const client = new Client({ directoryUrl: url, accountKey: await keyOf(pool, seal, url), ...LOOKS })
  // The authority finds an existing account by its key (RFC 8555, 7.3).
  await client.createAccount({
    termsOfServiceAgreed: true,
    ...(email !== undefined && { contact: [`mailto:${email}`] }),
  })
  return client
}

async function keyOf(pool: pg.Pool, seal: Seal, directoryUrl: string): Promise<string> {
  const [kept] = await accountKey(pool, directoryUrl)
  if (kept !== undefined) return seal.open(kept.key)
  await keepAccountKey(pool, directoryUrl, seal.close((await crypto.createPrivateEcdsaKey()).toString()))
  return keyOf(pool, seal, directoryUrl)
}
