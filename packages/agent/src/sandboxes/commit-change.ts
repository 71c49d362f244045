import { announce, type Host } from './host.ts'
import { writeManifest, writeManifestQuickly, type Manifest } from './manifest.ts'
import type { Sandbox } from './sandbox.ts'

/** `power-cut`: on disk before it returns. `crash`: a host that loses power loses the VM, and with it what this says. */
export type Survives = 'power-cut' | 'crash'

/**
 * Makes a change that has happened to a VM that of its sandbox: the manifest first, then the log's record. An agent that
 * is killed in between says at its next start what the manifest says (`recover.ts`). When either fails, neither is.
 */
export async function commitChange(
  host: Host,
  sandbox: Sandbox,
  manifest: Manifest,
  draft: Parameters<typeof announce>[2],
  survives: Survives,
): Promise<void> {
  const folder = host.dir.sandbox(sandbox.id)
  const write = survives === 'crash' ? writeManifestQuickly : writeManifest
  await write(folder, manifest)
  try {
    await announce(host, sandbox, draft)
  } catch (error) {
    await write(folder, sandbox.manifest).catch((again: unknown) =>
      host.log.error({ err: again, sandbox_id: sandbox.id }, 'manifest not taken back'),
    )
    throw error
  }
  sandbox.manifest = manifest
}
