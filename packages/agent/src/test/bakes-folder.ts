import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of the bakes that all test files of a run share (`shared-bakes.ts`). */
    readonly bakesFolder: string
  }
}

/** Global set-up of the tests with VMs: creates the folder, and deletes it at the end. */
export default async function bakesFolder(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-bakes-'))
  project.provide('bakesFolder', folder)
  return () => rm(folder, { recursive: true, force: true })
}
