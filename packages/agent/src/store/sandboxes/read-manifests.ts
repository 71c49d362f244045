import { readdir } from 'node:fs/promises'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import type { DataDir } from '../data-dir/data-dir.ts'
import type { UnreadableRecords } from '../ledger/unreadable-records.ts'
import { readManifest, type Manifest } from './manifest.ts'

/** Which sandboxes there are, and with them which bakes and slots are in use, without touching any. */
export async function readManifests(dir: DataDir, unreadable: UnreadableRecords): Promise<Map<SandboxId, Manifest>> {
  const found = new Map<SandboxId, Manifest>()
  for (const name of await readdir(dir.sandboxes)) {
    const id = parseSandboxId(name)
    if (id === null) continue
    const manifest = unreadable.take('sandbox', id, readManifest(dir.sandbox(id)))
    if (manifest !== null) found.set(id, manifest)
  }
  return found
}
