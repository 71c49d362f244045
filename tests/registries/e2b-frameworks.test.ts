/** Published integrations of E2B in agent frameworks, unchanged. They come from the registries of this machine. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { useServerWithRegistries } from '../setup/published-client-server.ts'
import { e2bEnvironment, installClient, installPythonClient, placeProgram } from '../setup/published-clients.ts'

const run = promisify(execFile)
const CLIENT = 'e2b@2.51.0'
const RUN_MS = 120_000

describe('frameworks with E2B', () => {
  const server = useServerWithRegistries()

  it.each([
    ['@mastra/e2b', '0.8.0', 'with-mastra.mjs', ['@mastra/core@1.71.0']],
    ['@openai/agents-extensions', '0.18.0', 'with-openai-agents.mjs', ['@openai/agents@0.18.0', 'zod@4']],
    ['@computesdk/e2b', '1.7.52', 'with-computesdk.mjs', ['computesdk@4.1.4']],
  ] as const)('%s %s', async (name, version, program, peers) => {
    const folder = await installClient(name, version, CLIENT, ...peers)
    const options = { cwd: folder, env: e2bEnvironment(server()), timeout: RUN_MS }
    const { stdout } = await run(process.execPath, [await placeProgram(folder, program)], options)
    expect(stdout).toContain('passed: the end')
  })

  it.each([['langchain-e2b', '0.0.6', 'with_langchain.py']])('%s %s', async (name, version, program) => {
    const python = await installPythonClient(name, version)
    const path = join(import.meta.dirname, '../setup/frameworks', program)
    const { stdout } = await run(python, [path], { env: e2bEnvironment(server()), timeout: RUN_MS })
    expect(stdout).toContain('passed: the end')
  })
})
