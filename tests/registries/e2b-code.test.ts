/** E2B's published code interpreter, unchanged. It comes from the registries of this machine. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { call } from '../setup/http.ts'
import { Offshoot } from '../setup/offshoot.ts'
import { useServerWithRegistries } from '../setup/published-client-server.ts'
import { e2bEnvironment, installClient, installPythonClient } from '../setup/published-clients.ts'

const run = promisify(execFile)
const PROGRAM = join(import.meta.dirname, '../setup/e2b-code-program.mjs')
const PYTHON_PROGRAM = join(import.meta.dirname, '../setup/e2b_program.py')
const SMOLAGENTS_PROGRAM = join(import.meta.dirname, '../setup/frameworks/with_smolagents.py')
const RUN_MS = 220_000

describe('the code interpreter of E2B', () => {
  const server = useServerWithRegistries({
    start: () => Offshoot.start('e2b-code', { templates: ['minimal', 'code-interpreter'] }),
    end: (offshoot) => offshoot.destroy(),
  })

  it('for JavaScript', async () => {
    const folder = await installClient('@e2b/code-interpreter', '2.8.0')
    const args = [PROGRAM, join(folder, 'node_modules/@e2b/code-interpreter')]
    const { stdout } = await run(process.execPath, args, { env: e2bEnvironment(server()), timeout: RUN_MS })
    expect(stdout).toContain('passed: the end')
  })

  it('for Python', async () => {
    const python = await installPythonClient('e2b-code-interpreter', '2.11.5')
    const { stdout } = await run(python, [PYTHON_PROGRAM, 'code'], { env: e2bEnvironment(server()), timeout: RUN_MS })
    expect(stdout).toContain('passed: the end')
  })

  it('for agents of smolagents', async () => {
    const python = await installPythonClient('smolagents[e2b]', '1.26.0')
    const options = { env: e2bEnvironment(server()), timeout: RUN_MS }
    const { stdout } = await run(python, [SMOLAGENTS_PROGRAM], options)
    expect(stdout).toContain('passed: the end')
  })

  it('is closed to requests without the access token, through the gateway and through previews', async () => {
    const offshoot = server()
    const { id } = await offshoot.create({ template: 'code-interpreter' })
    const { e2b_sandbox_url: gateway, edge_url: edge, preview_suffix: suffix } = offshoot.credentials
    const body = { code: '1' }
    const named = { 'e2b-sandbox-id': id, 'e2b-sandbox-port': '49999' }
    expect((await call('POST', `${gateway}/execute`, { headers: named, body })).status).toBe(401)
    const host = `49999-${id}.${suffix}`
    const preview = await call('POST', `${edge}/execute`, { headers: { host, accept: 'application/json' }, body })
    expect([preview.status, preview.body.error]).toEqual([403, 'this port is not public'])
    await offshoot.delete(id)
  })
})
