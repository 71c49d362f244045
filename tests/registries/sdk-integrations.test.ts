/** What the SDK offers to other makers' packages: installed beside them in an empty folder, and used by them. */
import { execFile } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Offshoot } from '../setup/offshoot.ts'
import { useServerWithRegistries } from '../setup/published-client-server.ts'
import { placeProgram } from '../setup/published-clients.ts'
import { packSdk, type SdkPackage } from '../setup/sdk-package.ts'

const run = promisify(execFile)
const setup = join(import.meta.dirname, '../setup')
const repository = join(import.meta.dirname, '../..')
const RUN_MS = 200_000
const INSTALL_MS = 300_000
const AI = ['ai@7.0.173', '@ai-sdk/openai-compatible@3.0.92', 'zod@4.6.7']
const COMPUTESDK = ['@computesdk/provider@2.1.5', 'computesdk@4.1.4']

describe('the SDK for TypeScript', () => {
  let sdk: SdkPackage
  const server = useServerWithRegistries({
    start: () => Offshoot.start('sdk-integrations', { templates: ['minimal', 'code-interpreter'] }),
    end: (offshoot) => offshoot.destroy(),
  })

  beforeAll(async () => {
    server()
    sdk = await packSdk()
  }, INSTALL_MS)
  afterAll(() => sdk?.remove())

  it.each([
    ['gives agents of the AI SDK tools', 'ai-sdk-tools', AI],
    ['is a provider of ComputeSDK', 'computesdk-provider', COMPUTESDK],
  ])('%s', { timeout: INSTALL_MS + RUN_MS }, async (_what, program, packages) => {
    const folder = await sdk.install(...packages)
    const { base_url: url, api_key: key, edge_url: edge } = server().credentials
    const env = { ...process.env, OFFSHOOT_BASE_URL: url, OFFSHOOT_API_KEY: key, EDGE_URL: edge }
    const args = [await placeProgram(folder, `${program}.mjs`)]
    const { stdout } = await run(process.execPath, args, { env, timeout: RUN_MS })
    expect(stdout).toContain('passed: the end')
  })

  it('has types for both', { timeout: INSTALL_MS }, async () => {
    const folder = await sdk.install(...AI, ...COMPUTESDK, '@types/node@24.19.2')
    await copyFile(join(setup, 'frameworks/sdk-consumer.ts'), join(folder, 'consumer.ts'))
    const compiler = join(repository, 'node_modules/typescript/bin/tsc')
    const options = [
      '--strict',
      '--noEmit',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--skipLibCheck',
      'consumer.ts',
    ]
    const { stdout } = await run(process.execPath, [compiler, ...options], { cwd: folder }).catch((error) => error)
    expect(stdout).toBe('')
  })
})
