import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder that the test files of a run share for PostgreSQL (`postgres-template.ts`). */
    readonly postgresFolder: string
  }
}

/** Setup and teardown of a run of the unit tests. */
export default async function postgresFolder(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-pg-template-'))
  await chmod(folder, 0o755)
  project.provide('postgresFolder', folder)
  return () => rm(folder, { recursive: true, force: true })
}
