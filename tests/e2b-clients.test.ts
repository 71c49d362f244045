/** E2B's published clients, unchanged. They come from the npm registry of this machine. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Offshoot } from './setup/offshoot.ts'
import { installClient } from './setup/published-clients.ts'
import { findRegistries } from './setup/registries.ts'
import { borrow, giveBack } from './setup/server-pool.ts'

const run = promisify(execFile)
const PROGRAM = join(import.meta.dirname, 'setup/e2b-program.mjs')
/** The newest, the one before, and the oldest that checks the form of keys. */
const VERSIONS = ['2.51.0', '2.50.0', '2.32.0']
const RUN_MS = 200_000

describe('clients of E2B', () => {
  let offshoot: Offshoot
  /** Why packages cannot be installed here; `null` if they can. */
  let obstacle: string | null = null

  beforeAll(async () => {
    await findRegistries().catch((error: Error) => (obstacle = `this machine reaches no registry: ${error.message}`))
    if (obstacle === null) offshoot = await borrow()
  })
  afterAll(giveBack)
  beforeEach(({ skip }) => {
    if (obstacle !== null) skip(obstacle)
  })

  it.each(VERSIONS)('e2b %s', async (version) => {
    const folder = await installClient('e2b', version)
    const { credentials } = offshoot
    const env = {
      ...process.env,
      E2B_API_KEY: credentials.e2b_api_key,
      E2B_API_URL: credentials.e2b_api_url,
      E2B_SANDBOX_URL: credentials.e2b_sandbox_url,
      E2B_DOMAIN: credentials.e2b_domain,
    }
    const args = [PROGRAM, join(folder, 'node_modules/e2b')]
    const { stdout } = await run(process.execPath, args, { env, timeout: RUN_MS })
    expect(stdout).toContain('passed: refusals')
  })
})
