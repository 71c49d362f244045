/** The package `@offshoot/sdk`: built, packed, installed in an empty folder, and used there by every kind of runtime. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Browser, hasBrowser } from '../setup/browser.ts'
import { Offshoot } from '../setup/offshoot.ts'
import { useServerWithRegistries } from '../setup/published-client-server.ts'
import { installClient, placeProgram } from '../setup/published-clients.ts'
import { packSdk, type SdkPackage } from '../setup/sdk-package.ts'
import { until } from '../setup/until.ts'

const run = promisify(execFile)
const setup = join(import.meta.dirname, '../setup')
const STEPS = 'commands, streams, background, terminals, files, forks, events'
const RUN_MS = 200_000
const INSTALL_MS = 300_000
const { arch } = process
const bunArch = arch === 'arm64' ? 'aarch64' : arch

interface Runtime {
  /** The npm package that holds it. */
  readonly name: string
  readonly version: string
  /** Path in the package. */
  readonly program: string
  /** Arguments before the path of a script. */
  readonly options?: readonly string[]
}

const node = (version: string): Runtime => ({ name: `node-linux-${arch}`, version, program: 'bin/node' })
const DENO_OPTIONS = ['run', '--allow-net', '--allow-env', '--no-prompt']
const RUNTIMES: readonly [string, Runtime][] = [
  ['the oldest Node.js', node('20.0.0')],
  ['Node.js 20', node('20.20.2')],
  ['Node.js 22', node('22.23.3')],
  ['Node.js 24', node('24.21.0')],
  ['Bun', { name: `@oven/bun-linux-${bunArch}`, version: '1.4.5', program: 'bin/bun' }],
  ['Deno', { name: `@deno/linux-${arch}-glibc`, version: '2.9.6', program: 'deno', options: DENO_OPTIONS }],
]

/** Pages of an origin that may use the API, and of one that may not. */
class Pages {
  readonly #servers: Server[] = []
  readonly files = new Map<string, string>()

  /** @returns the origin of a new server */
  async open(): Promise<string> {
    const server = createServer((request, response) => {
      const text = this.files.get(request.url ?? '')
      response.setHeader('content-type', request.url?.endsWith('.js') ? 'text/javascript' : 'text/html')
      response.writeHead(text === undefined ? 404 : 200).end(text)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.#servers.push(server)
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  close(): void {
    for (const server of this.#servers) server.close()
  }
}

describe('the SDK for TypeScript', () => {
  const pages = new Pages()
  let allowed: string
  let sdk: SdkPackage
  let folder: string
  const server = useServerWithRegistries({
    start: async () => {
      allowed = await pages.open()
      return Offshoot.start('sdk-typescript', { templates: ['minimal'], settings: { cors_origins: [allowed] } })
    },
    end: async (offshoot) => offshoot.destroy(),
  })

  const environment = () => {
    const { base_url: url, api_key: key } = server().credentials
    return { ...process.env, OFFSHOOT_BASE_URL: url, OFFSHOOT_API_KEY: key }
  }

  beforeAll(async () => {
    server()
    sdk = await packSdk()
    folder = await sdk.install('ws@8.23.0')
    for (const name of ['sdk-program.mjs', 'sdk-steps.mjs', 'sdk-worker.mjs'])
      await copyFile(join(setup, name), join(folder, name))
  }, INSTALL_MS)
  afterAll(async () => {
    pages.close()
    await sdk?.remove()
  })

  it('depends on no other package and holds no sources', async () => {
    const place = join(folder, 'node_modules/@offshoot/sdk')
    const described = JSON.parse(await readFile(join(place, 'package.json'), 'utf8')) as Record<string, unknown>
    expect(described).toMatchObject({ license: 'Apache-2.0', sideEffects: false, engines: { node: '>=20' } })
    expect(described).not.toHaveProperty('dependencies')
    expect(described).not.toHaveProperty('private')
    const names = await readdir(place, { recursive: true })
    expect(names).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'index.js', 'index.d.ts']))
    expect(names.filter((name) => /(?<!\.d)\.ts$|\.test\./.test(name))).toEqual([])
    const installed = await readdir(join(folder, 'node_modules'))
    expect(installed.filter((name) => !name.startsWith('.'))).toEqual(['@offshoot', 'ws'])
  })

  it.each(RUNTIMES)('works in %s', { timeout: INSTALL_MS + RUN_MS }, async (_name, runtime) => {
    const { name, version, program, options = [] } = runtime
    const file = join(await installClient(name, version), 'node_modules', name, program)
    const args = [...options, join(folder, 'sdk-program.mjs')]
    const { stdout } = await run(file, args, { cwd: folder, env: environment(), timeout: RUN_MS })
    expect(stdout).toBe(`passed: ${STEPS}\n`)
  })

  /** A program with the SDK in one module that needs no other. */
  async function bundled(name: string): Promise<string> {
    const bundle = await rolldown({ input: join(folder, name), platform: 'browser' })
    const { output } = await bundle.generate({ format: 'esm', minify: true })
    await bundle.close()
    return output[0].code
  }

  it('works in an edge runtime', { timeout: INSTALL_MS + RUN_MS }, async () => {
    const place = await installClient('miniflare', '4.20260730.0')
    const worker = join(folder, 'worker.mjs')
    await writeFile(worker, await bundled('sdk-worker.mjs'))
    const { base_url: url, api_key: key } = server().credentials
    const args = [await placeProgram(place, 'edge-runtime.mjs'), worker, url, key]
    const { stdout } = await run(process.execPath, args, { timeout: RUN_MS })
    expect(stdout).toBe(`${STEPS}\n`)
  })

  it('works in a browser, for the origins that the operator allows', async ({ skip }) => {
    if (!hasBrowser) skip('this machine has no Chromium')
    pages.files.set('/', '<!doctype html>')
    pages.files.set('/steps.js', await bundled('sdk-steps.mjs'))
    const { base_url: baseUrl, api_key: apiKey } = server().credentials
    const use = `import('/steps.js').then(({ useSdk }) => useSdk(${JSON.stringify({ baseUrl, apiKey, maxRetries: 0 })}))
      .then((names) => names.join(', '), (error) => error.message)`
    const browser = await Browser.start()
    const useAt = async (origin: string) => {
      const tab = await browser.open(origin)
      await until('the page', async () => (await tab.evaluate('location.origin')) === origin)
      return tab.evaluate(use)
    }
    try {
      expect(await useAt(allowed)).toBe(STEPS)
      expect(await useAt(await pages.open())).toBe('POST /v1/sandboxes: Failed to fetch')
    } finally {
      await browser.stop()
    }
  })

  it.each(['5.9.3', '7.0.2'])('has types for TypeScript %s, however it finds modules', async (version) => {
    const compiler = join(await installClient('typescript', version), 'node_modules/typescript/bin/tsc')
    const place = await mkdtemp(join(folder, 'types-'))
    await copyFile(join(setup, 'sdk-consumer.ts'), join(place, 'consumer.ts'))
    for (const [module, moduleResolution] of [
      ['nodenext', 'nodenext'],
      ['esnext', 'bundler'],
    ]) {
      const compilerOptions = {
        module,
        moduleResolution,
        target: 'es2022',
        lib: ['es2022', 'dom', 'esnext.disposable'],
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        types: [],
      }
      await writeFile(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
      const { stdout } = await run(process.execPath, [compiler, '--project', place]).catch((error) => error)
      expect(stdout).toBe('')
    }
  })
})
