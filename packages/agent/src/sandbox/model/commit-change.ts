import { announce, type Host } from './host.ts'
import { writeManifest, writeRunningManifest, type Manifest } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from './sandbox.ts'

type Draft = Parameters<typeof announce>[2]

/**
 * Commits a change of state that a VM has already made: writes the manifest, then logs the event. If the agent is killed in
 * between, the next agent logs the event from the manifest (`recover.ts`). If one of them fails, neither takes effect.
 */
export async function commitChange(host: Host, sandbox: Sandbox, manifest: Manifest, draft: Draft): Promise<void> {
  await writeManifest(host.store.dir.sandbox(sandbox.id), manifest)
  await announceOrRollBack(host, sandbox, draft, writeManifest)
  sandbox.manifest = manifest
}

/**
 * Like {@link commitChange}, but writes the manifest while the VM changes. Only for changes that a power cut undoes together with
 * the VM. If the agent is killed meanwhile, no caller has an answer, and the next agent brings the VM into the state of the
 * manifest (`settle-vm.ts`). If this fails, the VM may have changed, and the caller must roll that back.
 */
export async function commitBeside(
  host: Host,
  sandbox: Sandbox,
  manifest: Manifest,
  draft: Draft,
  change: () => Promise<void>,
): Promise<void> {
  const written = writeRunningManifest(host.store.dir.sandbox(sandbox.id), manifest)
  const outcomes = await Promise.allSettled([change(), written])
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed !== undefined) {
    await rollBack(host, sandbox, writeRunningManifest)
    throw failed.reason
  }
  await announceOrRollBack(host, sandbox, draft, writeRunningManifest)
  sandbox.manifest = manifest
}

async function announceOrRollBack(host: Host, sandbox: Sandbox, draft: Draft, write: typeof writeManifest) {
  try {
    await announce(host.store, sandbox, draft)
  } catch (error) {
    await rollBack(host, sandbox, write)
    throw error
  }
}

async function rollBack(host: Host, sandbox: Sandbox, write: typeof writeManifest): Promise<void> {
  await write(host.store.dir.sandbox(sandbox.id), sandbox.manifest).catch((error: unknown) =>
    host.log.error({ err: error, sandbox_id: sandbox.id }, 'manifest not rolled back'),
  )
}
