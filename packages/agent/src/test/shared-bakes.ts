import { execFile } from 'node:child_process'
import { access, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { takeLock } from '@offshoot/kit/exclusive-lock'

const MAKE_S = 180

/** accelerator.json contains the measured speed of the time-stamp counter, which is part of a bake's fingerprint. */
const SHARED = ['accelerator.json', 'bakes']

/**
 * Hard-links bakes that an earlier test of this run has made into an agent's data directory. Bakes are immutable.
 * @param kind identifies the bakes: their templates and machine
 * @param make bakes in `dataDir`, if no earlier test has
 */
export async function shareBakes(kind: string, dataDir: string, make: () => Promise<unknown>): Promise<void> {
  const shared = await folderOf(kind)
  const isMade = join(shared, 'made')
  const lock = await takeLock(join(shared, '.lock'), MAKE_S)
  if (lock === null) throw new Error(`the bakes of ${kind} are not made after ${MAKE_S} s`)
  try {
    if (await exists(isMade)) return await link(shared, dataDir)
    await make()
    await link(dataDir, shared)
    await mkdir(isMade)
  } finally {
    lock.release()
  }
}

async function folderOf(kind: string): Promise<string> {
  // Imported dynamically, because benches use this file without Vitest.
  const { inject } = await import('vitest')
  const folder = join(inject('bakesFolder'), kind)
  await mkdir(folder, { recursive: true })
  return folder
}

async function link(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o711 })
  const paths = SHARED.map((name) => join(from, name))
  await promisify(execFile)('cp', ['--archive', '--link', ...paths, to])
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
