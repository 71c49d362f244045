import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import type { Offshoot } from './offshoot.ts'

const repository = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)
const EXAMPLE_MS = 180_000

interface Example {
  readonly page: string
  /** The heading above it. */
  readonly section: string
  readonly code: string
}

/** The TypeScript of a page of the documentation. */
export function examplesOf(page: string): Example[] {
  const text = readFileSync(join(repository, page), 'utf8')
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ index, 1: code = '' }) => {
    const section = /.*^#+ (.+?)$/ms.exec(text.slice(0, index))?.[1] ?? ''
    return { page, section, code }
  })
}

interface Surroundings {
  /** Addresses on the Internet, and the local ones that stand for them. */
  readonly replaced?: Readonly<Record<string, string>>
  /** What the example finds in its folder. */
  readonly files?: Readonly<Record<string, Uint8Array>>
  readonly env?: Readonly<Record<string, string>>
}

/** Runs an example as a program of its own, for which the environment names the service and the key. */
export async function runExample(code: string, offshoot: Offshoot, around: Surroundings = {}) {
  const { replaced = {}, files = {}, env: given = {} } = around
  // Inside the repository, so that the program finds the SDK.
  const folder = await mkdtemp(join(repository, '.offshoot/example-'))
  try {
    const local = Object.entries(replaced).reduce((text, [from, to]) => text.replaceAll(from, to), code)
    await writeFile(join(folder, 'example.ts'), local)
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
    const { base_url: baseUrl, api_key: apiKey, jwt } = offshoot.credentials
    const own = { OFFSHOOT_BASE_URL: baseUrl, OFFSHOOT_API_KEY: apiKey, USER_JWT: jwt }
    const env = { ...process.env, NODE_NO_WARNINGS: '1', ...own, ...given }
    const ended = run(process.execPath, ['example.ts'], { cwd: folder, env, timeout: EXAMPLE_MS })
    return await ended.then(
      (output) => ({ exitCode: 0, ...output }),
      ({ code: exitCode = -1, stdout = '', stderr = '' }: { code?: number; stdout?: string; stderr?: string }) => ({
        exitCode,
        stdout,
        stderr,
      }),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What a program of docs/examples prints. */
export async function linesOfExample(
  name: string,
  offshoot: Offshoot,
  env: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const code = await readFile(join(repository, 'docs/examples', name), 'utf8')
  const { exitCode, stdout, stderr } = await runExample(code, offshoot, { env })
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 })
  return stdout.trim().split('\n')
}
