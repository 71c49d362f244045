import { readFileSync } from 'node:fs'
import { controlConfig } from '@offshoot/contract/process-config'
import { pino } from 'pino'
import { openDatabase } from './platform/db/database.ts'
import { migrate } from './platform/db/migrate.ts'
import { createAccounts } from './kinds/orgs/identity/accounts.ts'
import { accountsSecrets } from './platform/secrets/accounts-secret.ts'
import { Keyring } from './platform/secrets/keyring.ts'
import { firstCredentials, firstSignInLink } from './kinds/orgs/identity/first-credentials.ts'

/**
 * `bootstrap.ts CONFIG [--new-key]` migrates the schema, creates the first user, workspace and API key unless they
 * exist, and prints one line of JSON: `{"api_key","jwt","email","password","sign_in_token"}`.
 *
 * Key and password are stored as hashes, so they are printed only when they are created, and are `null` later.
 * `--new-key` replaces both. The JWT and the token of the sign-in link are always fresh.
 *
 * `bootstrap.ts CONFIG --sign-in-link` prints only a new `{"sign_in_token"}`, and changes nothing else.
 */
const FLAGS = [undefined, '--new-key', '--sign-in-link']
const [configPath, ...flags] = process.argv.slice(2)
if (configPath === undefined || flags.length > 1 || !FLAGS.includes(flags[0])) {
  throw new Error('usage: bootstrap.ts CONFIG [--new-key | --sign-in-link]')
}
const config = controlConfig.parse(JSON.parse(readFileSync(configPath, 'utf8')))
// Standard output carries only the line of JSON, so the log goes to standard error.
const log = pino({ level: config.log_level }, pino.destination({ dest: 2, sync: true }))

const database = openDatabase(config.database, (error) => log.warn({ err: error }, 'idle database connection broke'))
try {
  process.stdout.write(`${JSON.stringify(await run())}\n`)
} finally {
  await database.close()
}

async function run(): Promise<object> {
  if (flags[0] === '--sign-in-link') return { sign_in_token: await firstSignInLink(database.pool) }
  await migrate(database)
  const accounts = await createAccounts({
    database,
    // Bootstrap creates this account even if sign-up is closed, and without a verified address: its mailbox does not
    // exist.
    config: { ...config, sign_up: 'open', require_verified_email: false },
    keyring: await Keyring.open(database.pool, await accountsSecrets(config.data_dir)),
    sendMail: async () => undefined,
    log,
  })
  return firstCredentials(database.pool, accounts, { makesNewKey: flags[0] === '--new-key' })
}
