import { statSync } from 'node:fs'
import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** An empty file in a sandbox's folder whose time says when something last happened in it: for the agent's next start. */
const ACTIVITY = 'activity'

/** @param idleMs for how long nothing has been under way */
export async function writeActivity(folder: string, idleMs: number): Promise<void> {
  const path = join(folder, ACTIVITY)
  const at = new Date(Date.now() - idleMs)
  await utimes(path, at, at).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    await writeFile(path, '', { mode: 0o600 })
    await utimes(path, at, at)
  })
}

/** Milliseconds since the last activity; 0 if there is no record of it. */
export function readIdleMs(folder: string): number {
  const activity = statSync(join(folder, ACTIVITY), { throwIfNoEntry: false })
  return activity === undefined ? 0 : Math.max(0, Date.now() - activity.mtimeMs)
}
