/**
 * Ends the lent servers of a run (`server-pool.ts`) and removes the run's folder when its parent closes standard
 * input: at the end of the run, or when the parent is interrupted or killed.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Offshoot } from './offshoot.ts'

const [folder = ''] = process.argv.slice(2)
await buffer(process.stdin)
for (const name of await readdir(join(folder, 'lent')).catch(() => [])) {
  const offshoot = await Offshoot.attach(join(folder, 'lent', name)).catch(() => null)
  await offshoot?.destroy()
}
await rm(folder, { recursive: true, force: true })
