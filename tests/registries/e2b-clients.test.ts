/** E2B's published clients, unchanged. They come from the registries of this machine. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { useServerWithRegistries } from '../setup/published-client-server.ts'
import { e2bEnvironment, installClient, installPythonClient } from '../setup/published-clients.ts'

const run = promisify(execFile)
const PROGRAM = join(import.meta.dirname, '../setup/e2b-program.mjs')
const PYTHON_PROGRAM = join(import.meta.dirname, '../setup/e2b_program.py')
/** The newest, the one before, and the oldest that checks the form of keys. */
const VERSIONS = ['2.51.0', '2.50.0', '2.32.0']
const RUN_MS = 200_000

describe('clients of E2B', () => {
  const server = useServerWithRegistries()

  it.each(VERSIONS)('e2b %s', async (version) => {
    const folder = await installClient('e2b', version)
    const args = [PROGRAM, join(folder, 'node_modules/e2b')]
    const { stdout } = await run(process.execPath, args, { env: e2bEnvironment(server()), timeout: RUN_MS })
    expect(stdout).toContain('passed: refusals')
  })

  it.each(['2.63.0', '2.51.0'])('e2b %s for Python', async (version) => {
    const python = await installPythonClient('e2b', version)
    const options = { env: e2bEnvironment(server()), timeout: RUN_MS }
    const { stdout } = await run(python, [PYTHON_PROGRAM, 'e2b'], options)
    expect(stdout).toContain('passed: the end')
  })
})
