import { chainPath, readChain } from '../../store/disks/chain-file.ts'
import type { LayerId } from '../../store/disks/layer-id.ts'
import { hibernatedDraft } from '../events/announce-state.ts'
import { commitChange } from '../model/commit-change.ts'
import { removeHibernation, removeMemoryBase } from './old-checkpoints.ts'
import type { Host } from '../model/host.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'
import { isDiskFull } from '../../store/data-dir/full-disk.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { NO_SLOT } from '../../machine/slots/slots.ts'

/**
 * Keeps what a durable sandbox has after its QEMU is gone: its disk, frozen as it is. It is hibernated then, without memory, and
 * keeps its volumes.
 * @param announceDeath says what happened to its VM, once it is known that its disk is kept
 * @returns `none` when it is not durable. `unknown` when what its disk consists of is not known or cannot be read: the sandbox then
 *   counts as one with an unreadable record, and nothing of it may be deleted or written over
 */
export async function keepDisk(
  host: Host,
  sandbox: Sandbox,
  announceDeath: () => Promise<void>,
): Promise<'kept' | 'none' | 'unknown'> {
  const { id, manifest } = sandbox
  if (!manifest.durable) return 'none'
  const layers = await adoptDisk(host, sandbox)
  if (layers === null) return 'unknown'
  // Of a hibernation that was begun, or of one that is over: its memory is older than the disk.
  // The sandbox is booted from its disk whether it can be removed or not.
  await removeHibernation(host, sandbox)
  await removeMemoryBase(host, sandbox)
  await announceDeath()
  const place = { slot: NO_SLOT, ...(manifest.slot === NO_SLOT ? {} : { home_slot: manifest.slot }) }
  const kept: Manifest = { ...manifest, ...place, status: 'hibernated', cold: true, layers: [...layers], qemu: null }
  await commitChange(host, sandbox, kept, hibernatedDraft(null))
  await host.platform.cgroups?.remove(manifest.slot)
  host.platform.slots.park(manifest.slot, id)
  return 'kept'
}

async function adoptDisk(host: Host, { id, lost }: Sandbox): Promise<readonly LayerId[] | null> {
  const folder = host.store.dir.sandbox(id)
  const path = chainPath(folder)
  const keep = (error: unknown): null => {
    host.log.error({ err: error, sandbox_id: id, layers: lost?.layers }, 'disk of a durable sandbox cannot be kept')
    return host.store.ledger.unreadable.take<never>('sandbox', id, { state: 'unreadable', path, error })
  }
  const chain = await readChain(folder)
  if (chain.state === 'unreadable') return keep(chain.error)
  if (chain.state === 'absent') return keep(new Error('a durable sandbox has no note of the layers of its disk'))
  const layers = [...chain.record.layers, chain.record.active]
  try {
    await host.store.layers.adopt(host.store.dir.vm(id), { ...chain.record, layers })
    await host.store.layers.sync()
  } catch (error) {
    if (isDiskFull(error)) throw error
    return keep(error)
  }
  return layers
}
