import { access, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ExclusiveLock, takeLock } from '@offshoot/kit/exclusive-lock'
import { inject } from 'vitest'
import { emptyWorkspace } from './empty-workspace.ts'
import { LONG, Offshoot } from './offshoot.ts'
import { until } from './until.ts'

/*
 * Servers that are started once per run and lent to one test file after another. A file has its server to itself: it
 * may kill services and count objects. It returns the server empty. A file that needs its own settings, or that starts
 * and stops the whole service, starts its own server (`Offshoot.start`).
 */

/** More than there are workers. */
const MOST = 16
const TEMPLATES = ['minimal', 'base'] as const

interface Loan {
  readonly offshoot: Offshoot
  readonly lock: ExclusiveLock
  /** A file that exists while the server is idle and empty. */
  readonly idle: string
}

let loan: Loan | null = null

/** A running server without sandboxes, for this test file alone. */
export async function borrow(): Promise<Offshoot> {
  const folder = join(inject('seedFolder'), 'lent')
  await mkdir(folder, { recursive: true, mode: 0o711 })
  for (let n = 0; n < MOST; n++) {
    const place = join(folder, String(n))
    const lock = await takeLock(`${place}.lock`, 0)
    if (lock === null) continue
    const idle = `${place}.idle`
    try {
      const offshoot = await takeOrStart(join(folder, `${LONG}-${n}`), idle)
      loan = { offshoot, lock, idle }
      return offshoot
    } catch (error) {
      lock.release()
      throw error
    }
  }
  throw new Error(`all ${MOST} servers are lent`)
}

async function takeOrStart(dataDir: string, idle: string): Promise<Offshoot> {
  const offshoot = await Offshoot.attach(dataDir).catch(() => null)
  if (offshoot !== null && (await isThere(idle))) {
    await rm(idle)
    return offshoot
  }
  // Its last user left objects behind, or died.
  await offshoot?.destroy()
  await rm(dataDir, { recursive: true, force: true })
  return Offshoot.startAt(dataDir, { templates: TEMPLATES })
}

/** Empties the borrowed server. Fails if a VM or a sandbox folder remains. */
export async function giveBack(): Promise<void> {
  if (loan === null) return
  const { offshoot, lock, idle } = loan
  loan = null
  try {
    await offshoot.healthy()
    await emptyWorkspace(offshoot)
    await until('no VM or folder left', async () => (await remains(offshoot)).length === 0).catch(async (error) => {
      throw new Error(`left behind: ${(await remains(offshoot)).join(', ')}`, { cause: error })
    })
    await writeFile(idle, '')
  } finally {
    lock.release()
  }
}

async function remains(offshoot: Offshoot): Promise<string[]> {
  const machines = (await offshoot.virtualMachines()).map(({ sandboxId }) => `QEMU of ${sandboxId}`)
  const folders = ['sandboxes', 'snapshots', 'volumes'].map(async (kind) => {
    const names = await readdir(join(offshoot.dataDir, 'agent', kind)).catch(() => [])
    return names.map((name) => `${kind}/${name}`)
  })
  return [...machines, ...(await Promise.all(folders)).flat()]
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
