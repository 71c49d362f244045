import { join } from 'node:path'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { MOVED } from '../../store/ledger/ledger.ts'
import { MANIFEST } from '../../store/sandboxes/manifest.ts'
import { mayEndBake, sweepBakesSoon } from '../cleanup/sweep-bakes.ts'
import { sweepLayersSoon } from '../cleanup/sweep-layers.ts'
import { removeTraces } from './remove-traces.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'

const REASONS = {
  moved: 'it was moved to another host',
  cancelled: 'its move to this host was cancelled',
} as const

/**
 * Removes a sandbox that another host has. Like a deletion, but the agent's log does not say that it was deleted. Concurrent
 * callers share one removal.
 */
export function departSandbox(host: Host, sandbox: Sandbox, reason: keyof typeof REASONS): Promise<void> {
  return sandbox.remove(() => remove(host, sandbox, reason))
}

async function remove(host: Host, sandbox: Sandbox, reason: keyof typeof REASONS): Promise<void> {
  if (host.sandboxes.get(sandbox.id) !== sandbox) return
  sandbox.manifest = { ...sandbox.manifest, status: 'deleting' }
  // From here on, every start removes the rest, also after a power cut.
  const folder = host.store.dir.sandbox(sandbox.id)
  await host.store.ledger.strike(join(folder, MANIFEST), MOVED)
  await syncFolder(folder)
  // The archive is complete on the other host.
  if (reason === 'moved') await host.store.objects?.archives.files.end(sandbox.id, 'another host has the database')
  await removeTraces(host, sandbox, REASONS[reason])
  host.log.info({ sandbox_id: sandbox.id, reason }, REASONS[reason])
  sweepLayersSoon(host)
  if (mayEndBake(sandbox.manifest)) sweepBakesSoon(host)
}
