/** Published clients of the Model Context Protocol, unchanged. They come from the npm registry of this machine. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { useServerWithRegistries } from '../setup/published-client-server.ts'
import { installClient } from '../setup/published-clients.ts'

const run = promisify(execFile)
const PROGRAM = join(import.meta.dirname, '../setup/mcp-program.mjs')
const OFFSHOOT = join(import.meta.dirname, '../../packages/cli/bin/offshoot.mjs')
const RUN_MS = 200_000

describe('clients of MCP', () => {
  const server = useServerWithRegistries()

  it.each([
    ['client', '2.4.0', 'HTTP', []],
    ['sdk', '1.32.2', 'HTTP', []],
    ['client', '2.4.0', 'offshoot mcp', [OFFSHOOT]],
    ['sdk', '1.32.2', 'offshoot mcp', [OFFSHOOT]],
  ])('@modelcontextprotocol/%s %s by %s', async (generation, version, _way, program) => {
    const folder = await installClient(`@modelcontextprotocol/${generation}`, version)
    const { base_url: url, api_key: key } = server().credentials
    const args = [PROGRAM, folder, generation, `${url}/mcp`, key, ...program]
    const { stdout } = await run(process.execPath, args, { timeout: RUN_MS })
    expect(stdout).toContain('passed: the end')
  })

  it('@modelcontextprotocol/inspector --cli', async () => {
    const folder = await installClient('@modelcontextprotocol/inspector', '2.12.0')
    const { base_url: url, api_key: key } = server().credentials
    const program = join(folder, 'node_modules/.bin/mcp-inspector')
    const common = ['--cli', `${url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${key}`]
    const inspect = async (...args: string[]) => JSON.parse((await run(program, [...common, ...args])).stdout)
    const { tools } = await inspect('--method', 'tools/list')
    expect(tools).toContainEqual(expect.objectContaining({ name: 'create_sandbox' }))
    const called = await inspect('--method', 'tools/call', '--tool-name', 'list_templates')
    expect(called.structuredContent.templates).toContainEqual(expect.objectContaining({ name: 'base' }))
  })
})
