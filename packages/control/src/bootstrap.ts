import { readFileSync } from 'node:fs'
import { controlConfig } from '@offshoot/contract/process-config'
import { pino } from 'pino'
import { openDatabase } from './platform/db/database.ts'
import { migrate } from './platform/db/migrate.ts'
import { createAccounts } from './kinds/orgs/identity/accounts.ts'
import { accountsSecret } from './platform/accounts-secret.ts'
import { firstCredentials } from './kinds/orgs/identity/first-credentials.ts'

/**
 * `bootstrap.ts CONFIG [--new-key]`: brings the schema up to date, makes the first user, workspace and key when there are
 * none, and prints one line of JSON: `{"api_key","jwt","email","password"}`. Key and password are shown only when they
 * are made (they are kept as hashes) and `null` later; `--new-key` makes both anew. The jwt is always fresh.
 */
const [configPath, ...flags] = process.argv.slice(2)
if (configPath === undefined || flags.some((flag) => flag !== '--new-key')) {
  throw new Error('usage: bootstrap.ts CONFIG [--new-key]')
}
const config = controlConfig.parse(JSON.parse(readFileSync(configPath, 'utf8')))
// Standard output is for the one line.
const log = pino({ level: config.log_level }, pino.destination({ dest: 2, sync: true }))

const database = openDatabase(config.database, (error) => log.warn({ err: error }, 'idle database connection broke'))
try {
  await migrate(database.db)
  const accounts = await createAccounts({
    database,
    // Its own account is made whoever else may make one; nobody reads mail at its address.
    config: { ...config, sign_up: 'open', require_verified_email: false },
    secret: await accountsSecret(config.data_dir),
    sendMail: async () => undefined,
    log,
  })
  const credentials = await firstCredentials(database.pool, accounts, { makesNewKey: flags.includes('--new-key') })
  process.stdout.write(`${JSON.stringify(credentials)}\n`)
} finally {
  await database.close()
}
