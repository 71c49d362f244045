import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** For what the test files of a run share of PostgreSQL (`postgres-template.ts`). */
    readonly postgresFolder: string
  }
}

/** Begins and ends a run of the unit tests. */
export default async function postgresFolder(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-pg-template-'))
  await chmod(folder, 0o755)
  project.provide('postgresFolder', folder)
  return () => rm(folder, { recursive: true, force: true })
}
