import type { AcmeSettings } from '@offshoot/contract/control-settings'
import { axios, Client, crypto } from 'acme-client'
import type pg from 'pg'
import type { Seal } from '../../../platform/seal.ts'
import { accountKey, keepAccountKey } from './order-statements.ts'

/** Milliseconds for one answer of the authority. */
const ANSWER_MS = 30_000
/** Looks at what the authority has yet to do: their number, and milliseconds between two, ever more. */
const LOOKS = { backoffAttempts: 12, backoffMin: 500, backoffMax: 10_000 } as const

/** The library's own requests have no limit, and try again for minutes what we try again ourselves. Its types leave its settings out. */
Object.assign(axios.defaults, { timeout: ANSWER_MS })
Object.assign((axios.defaults as unknown as { acmeSettings: object }).acmeSettings, { retryMaxAttempts: 0 })

/** Speaks to the authority as the one account that all control processes have there, made when it is first needed. */
export async function acmeAccount(pool: pg.Pool, seal: Seal, { directory_url: url, email }: AcmeSettings) {
  const client = new Client({ directoryUrl: url, accountKey: await keyOf(pool, seal, url), ...LOOKS })
  // One that is there already is found by its key (RFC 8555, 7.3).
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
