import { readdir } from 'node:fs/promises'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import type { DataDir } from '../data-dir/data-dir.ts'
import { readManifest, type Manifest } from './manifest.ts'

/** Which sandboxes there are, and with them which bakes and slots are in use, without touching any. */
export async function readManifests(dir: DataDir): Promise<Map<SandboxId, Manifest>> {
  const found = new Map<SandboxId, Manifest>()
  for (const name of await readdir(dir.sandboxes)) {
    const id = parseSandboxId(name)
    const manifest = id === null ? null : await readManifest(dir.sandbox(id))
    if (id !== null && manifest !== null) found.set(id, manifest)
  }
  return found
}
