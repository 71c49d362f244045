import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** For the data directories that the test files of a run copy theirs from (`seed.ts`). */
    readonly seedFolder: string
  }
}

/** Where data directories of tests are: on one file system, so that copies can share what nobody writes. */
const parent = resolve(import.meta.dirname, '../../.offshoot/tests')

/** Begins and ends a run of the system tests. */
export default async function seedFolder(project: TestProject): Promise<() => Promise<void>> {
  await mkdir(parent, { recursive: true, mode: 0o711 })
  const folder = await mkdtemp(join(parent, 'seeds-'))
  project.provide('seedFolder', folder)
  return () => rm(folder, { recursive: true, force: true })
}
