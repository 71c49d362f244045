import { execFile } from 'node:child_process'
import { access, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { takeLock } from '@offshoot/kit/exclusive-lock'

const MAKE_S = 180

/** The speed of the time-stamp counter belongs to a bake's fingerprint, so that whoever takes the one takes the other. */
const SHARED = ['accelerator.json', 'bakes']

/**
 * Gives an agent's data directory bakes that another one has made in this run. None is ever written again, so links will do.
 * @param kind of bakes: what they are of, and on what machine
 * @param make makes them in `dataDir`, for this one and those who come later
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
  // Benches have agents too, and load Vitest where there is none.
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
