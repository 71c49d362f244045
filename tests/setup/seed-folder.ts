import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder of a run, for seeds (`seed.ts`) and lent servers (`server-pool.ts`). */
    readonly seedFolder: string
  }
}

/** Parent of the tests' data directories. All on one file system, so that copies can share read-only files. */
const parent = resolve(import.meta.dirname, '../../.offshoot/tests')

/** Global setup and teardown of a run of the system tests. */
export default async function seedFolder(project: TestProject): Promise<() => Promise<void>> {
  await mkdir(parent, { recursive: true, mode: 0o711 })
  const folder = await mkdtemp(join(parent, 'seeds-'))
  project.provide('seedFolder', folder)
  // Detached, so that a Ctrl-C in the terminal does not end it. It ends after this process.
  const ender = spawn(process.execPath, [join(import.meta.dirname, 'stop-server-pool.ts'), folder], {
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
  })
  ender.unref()
  return async () => {
    const ended = once(ender, 'exit')
    ender.ref()
    ender.stdin.end()
    const [code] = await ended
    if (code !== 0) throw new Error(`ending the servers that were lent exited with ${code}`)
  }
}
