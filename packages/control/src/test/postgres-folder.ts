import { chmod, mkdir, mkdtemp, readFile, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder of all clusters of a run, and of PostgreSQL's programs (`postgres-template.ts`). */
    readonly postgresFolder: string
  }
}

/** A file system in memory on most Linux machines. */
const MEMORY = '/dev/shm'
/** More than the clusters of a run occupy at the same time. */
const NEEDED_BYTES = 2 ** 31

/** Setup and teardown of a run of the unit tests. Temporary files are in memory, too: many tests wait for fsync. */
export default async function postgresFolder(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(await fastFolder(), 'offshoot-pg-'))
  await chmod(folder, 0o755)
  project.provide('postgresFolder', folder)
  const temporary = join(folder, 'tmp')
  await mkdir(temporary)
  // The umask does not apply.
  await chmod(temporary, 0o1777)
  project.config.env = { ...project.config.env, TMPDIR: temporary }
  return () => rm(folder, { recursive: true, force: true })
}

/**
 * Memory, if it has space and may contain programs. A cluster has hundreds of files, and on ext4 each new file costs
 * more, the more files were deleted within the last minutes.
 */
async function fastFolder(): Promise<string> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '))
  const [, , type, options = ''] = mounts.findLast(([, path]) => path === MEMORY) ?? []
  if (type !== 'tmpfs' || options.split(',').includes('noexec')) return tmpdir()
  const { bavail, bsize } = await statfs(MEMORY)
  return bavail * bsize < NEEDED_BYTES ? tmpdir() : MEMORY
}
