import { readdir } from 'node:fs/promises'
import { parseSandboxId } from '@offshoot/contract/ids'
import type { Host } from './host.ts'
import { readManifest } from './manifest.ts'
import { Sandbox } from './sandbox.ts'

/** Learns which sandboxes there are, and with them which bakes are in use, without touching any. */
export async function readManifests(host: Host): Promise<void> {
  for (const name of await readdir(host.dir.sandboxes)) {
    const id = parseSandboxId(name)
    const manifest = id === null ? null : await readManifest(host.dir.sandbox(id))
    if (id !== null && manifest !== null) host.sandboxes.set(id, new Sandbox(manifest, host))
  }
}
