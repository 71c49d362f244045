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
 * Keeps the disk of a durable sandbox after its QEMU has ended: freezes it as it is. The sandbox is then hibernated,
 * without memory, and keeps its volumes.
 * @param announceDeath announces how the VM ended; called once the disk is kept
 * @returns `none` if the sandbox is not durable. `unknown` if the record of its disk is missing or unreadable: the sandbox
 *   then counts as one with an unreadable record, and the agent must not delete or overwrite anything of it
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
  // A checkpoint from an interrupted or an earlier hibernation: its memory is older than the disk. The sandbox boots from
  // its disk even if the removal fails.
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
  if (chain.state === 'absent') return keep(new Error('a durable sandbox has no record of the layers of its disk'))
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
