import { removeTree } from '../../store/data-dir/folders.ts'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import { mayEndBake, sweepBakesSoon } from '../cleanup/sweep-bakes.ts'
import { announce, type Host } from '../model/host.ts'
import { MANIFEST } from '../../store/sandboxes/manifest.ts'
import { departSandbox } from './depart.ts'
import { removeTraces } from './remove-traces.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { syncVolumes } from '../volumes/sandbox-volumes.ts'
import { sweepLayersSoon } from '../cleanup/sweep-layers.ts'

/** Milliseconds for a killed QEMU to end. */
export const KILL_MS = 10_000

/**
 * Deletes a sandbox. Cancels the change in progress, and runs before all waiting changes. Concurrent callers share one
 * deletion; a failed one can be retried.
 */
export function deleteSandbox(host: Host, sandbox: Sandbox): Promise<void> {
  // Control has heard nothing of it from this host.
  if (sandbox.manifest.move?.direction === 'arriving') return departSandbox(host, sandbox, 'cancelled')
  // A change that hangs in the guest fails when the VM ends.
  if (sandbox.transitions.isBusy)
    void sandbox.vm?.kill(Deadline.after(KILL_MS, `end of ${sandbox.id}`)).catch(() => undefined)
  return sandbox.remove(() => remove(host, sandbox))
}

async function remove(host: Host, sandbox: Sandbox): Promise<void> {
  // A cancelled create has removed everything already.
  if (host.sandboxes.get(sandbox.id) !== sandbox) return
  const { vm } = sandbox
  if (vm !== null) await syncVolumes(host, sandbox, vm)
  sandbox.manifest = { ...sandbox.manifest, status: 'deleting' }
  // A rename needs no disk space, and a power cut cannot empty the manifest.
  await traceStep('strike of the manifest', () =>
    host.store.ledger.strike(join(host.store.dir.sandbox(sandbox.id), MANIFEST)),
  )
  sandbox.vm = null
  const ended = vm?.kill(Deadline.after(KILL_MS, `end of ${sandbox.id}`))
  // A killed QEMU needs milliseconds to end, and makes no more files. What cannot be removed yet goes after its end.
  const removed = removeLargeFiles(host, sandbox).catch(() => undefined)
  await ended
  await removed
  await finishRemoval(host, sandbox)
  sweepLayersSoon(host)
  if (mayEndBake(sandbox.manifest)) sweepBakesSoon(host)
}

/** Removes the rest after the VM has ended; also continues a deletion that a restart of the agent interrupted. */
export async function finishRemoval(host: Host, sandbox: Sandbox): Promise<void> {
  // On a full disk, they make room for the log's record.
  await removeLargeFiles(host, sandbox)
  if (host.store.events.position(sandbox.id)?.type !== 'sandbox.deleted') {
    const lifetimeSeconds = Math.max(0, Math.round((Date.now() - Date.parse(sandbox.manifest.created_at)) / 1000))
    await announce(host.store, sandbox, {
      type: 'sandbox.deleted',
      message: 'sandbox deleted',
      metadata: { lifetime_seconds: lifetimeSeconds },
    })
  }
  await host.store.objects?.archives.files.end(sandbox.id, 'the database was deleted')
  await removeTraces(host, sandbox)
}

async function removeLargeFiles({ store: { checkpoints, dir } }: Host, { id }: Sandbox): Promise<void> {
  const memory = [dir.hibernation(id), dir.memoryBase(id), dir.keptMemory(id)]
  await traceStep('removal of large files', () =>
    Promise.all([removeTree(dir.vm(id)), ...memory.map((folder) => checkpoints.remove(folder))]),
  )
}
