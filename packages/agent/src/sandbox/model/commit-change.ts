import { announce, type Host } from './host.ts'
import { writeManifest, writeRunningManifest, type Manifest } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from './sandbox.ts'

type Draft = Parameters<typeof announce>[2]

/**
 * Makes a change that has happened to a VM that of its sandbox: the manifest first, then the log's record. An agent that
 * is killed in between says at its next start what the manifest says (`recover.ts`). When either fails, neither is.
 */
export async function commitChange(host: Host, sandbox: Sandbox, manifest: Manifest, draft: Draft): Promise<void> {
  await writeManifest(host.dir.sandbox(sandbox.id), manifest)
  await announceOrTakeBack(host, sandbox, draft, writeManifest)
  sandbox.manifest = manifest
}

/**
 * The same with the manifest written beside the change, for one that a host's loss of power undoes with the VM. An agent that is
 * killed in between has answered nobody, and its successor makes the VM do what the manifest says (`settle-vm.ts`).
 * When it fails, the VM may have changed: that is its caller's to take back.
 */
export async function commitBeside(
  host: Host,
  sandbox: Sandbox,
  manifest: Manifest,
  draft: Draft,
  change: () => Promise<void>,
): Promise<void> {
  const written = writeRunningManifest(host.dir.sandbox(sandbox.id), manifest)
  const outcomes = await Promise.allSettled([change(), written])
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed !== undefined) {
    await takeBack(host, sandbox, writeRunningManifest)
    throw failed.reason
  }
  await announceOrTakeBack(host, sandbox, draft, writeRunningManifest)
  sandbox.manifest = manifest
}

async function announceOrTakeBack(host: Host, sandbox: Sandbox, draft: Draft, write: typeof writeManifest) {
  try {
    await announce(host, sandbox, draft)
  } catch (error) {
    await takeBack(host, sandbox, write)
    throw error
  }
}

async function takeBack(host: Host, sandbox: Sandbox, write: typeof writeManifest): Promise<void> {
  await write(host.dir.sandbox(sandbox.id), sandbox.manifest).catch((error: unknown) =>
    host.log.error({ err: error, sandbox_id: sandbox.id }, 'manifest not taken back'),
  )
}
