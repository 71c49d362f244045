/** What the SDK offers to other makers' packages: installed beside them in an empty folder, and used by them. */
import { execFile } from 'node:child_process'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { examplesOf } from '../setup/documented-examples.ts'
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

/** The program below a heading of the documentation, with a template that the server has. */
function exampleOf(heading: string): string {
  const example = examplesOf('docs/sdk.md').find(({ section }) => section === heading)
  if (example === undefined) throw new Error(`the documentation has no example below ${heading}`)
  return example.code.replace("'base'", "'code-interpreter'")
}

/** A model that runs one command and says what it printed. */
const MODEL = `import { startChatModel } from './chat-model.mjs'
const { model, close } = await startChatModel([() => [['runCommand', { command: 'pwd' }]], ({ answers: [said] }) => said])
`

describe('the SDK for TypeScript', () => {
  let sdk: SdkPackage
  const server = useServerWithRegistries({
    start: () => Offshoot.start('sdk-integrations', { templates: ['minimal', 'code-interpreter'] }),
    end: (offshoot) => offshoot.destroy(),
  })

  /** What a program prints that finds the service in its environment. */
  async function outputOf(program: string): Promise<string> {
    const { base_url: url, api_key: key, edge_url: edge } = server().credentials
    const env = { ...process.env, OFFSHOOT_BASE_URL: url, OFFSHOOT_API_KEY: key, EDGE_URL: edge }
    const { stdout } = await run(process.execPath, [program], { env, timeout: RUN_MS })
    return stdout
  }

  beforeAll(async () => {
    server()
    sdk = await packSdk()
  }, INSTALL_MS)
  afterAll(() => sdk?.remove())

  it('gives agents of the AI SDK tools', { timeout: INSTALL_MS + 2 * RUN_MS }, async () => {
    const folder = await sdk.install(...AI)
    const program = await placeProgram(folder, 'ai-sdk-tools.mjs', 'chat-model.mjs')
    expect(await outputOf(program)).toContain('passed: the end')
    const example = exampleOf('Agents of the AI SDK').replace("cwd: '/work'", "cwd: '/tmp'")
    await writeFile(join(folder, 'example.mjs'), `${MODEL}${example}; console.log(text); close()`)
    expect(await outputOf(join(folder, 'example.mjs'))).toContain('"stdout":"/tmp\\n"')
  })

  it('is a provider of ComputeSDK', { timeout: INSTALL_MS + 2 * RUN_MS }, async () => {
    const folder = await sdk.install(...COMPUTESDK)
    expect(await outputOf(await placeProgram(folder, 'computesdk-provider.mjs'))).toContain('passed: the end')
    await writeFile(join(folder, 'example.mjs'), `${exampleOf('ComputeSDK')}; console.log(stdout)`)
    expect((await outputOf(join(folder, 'example.mjs'))).trim()).toBe('42')
  })

  it('has types for both', { timeout: INSTALL_MS }, async () => {
    const folder = await sdk.install(...AI, ...COMPUTESDK, '@types/node@24.19.2')
    await copyFile(join(setup, 'frameworks/sdk-consumer.ts'), join(folder, 'consumer.ts'))
    const compiler = join(repository, 'node_modules/typescript/bin/tsc')
    const compilerOptions = { module: 'nodenext', target: 'es2023', strict: true, skipLibCheck: true, noEmit: true }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
    const { stdout } = await run(process.execPath, [compiler, '--project', folder]).catch((error) => error)
    expect(stdout).toBe('')
  })
})
