import { rm } from 'node:fs/promises'
import { readChain } from '../disks/chain-file.ts'
import { hibernatedDraft } from './announce-state.ts'
import { commitChange } from './commit-change.ts'
import type { Host } from './host.ts'
import type { Manifest } from './manifest.ts'
import type { Sandbox } from './sandbox.ts'
import { NO_SLOT } from './slots.ts'

/**
 * Keeps what a durable sandbox has after its QEMU is gone: its disk, frozen as it is. It is hibernated then, without memory, and
 * keeps its volumes.
 * @param announceDeath says what happened to its VM, once it is known that its disk is kept
 * @returns false when it has none: it is not durable, or what its disk consists of is not known
 */
export async function keepDisk(host: Host, sandbox: Sandbox, announceDeath: () => Promise<void>): Promise<boolean> {
  const { id, manifest } = sandbox
  if (!manifest.durable) return false
  const chain = await readChain(host.dir.sandbox(id))
  if (chain === null) return false
  const layers = [...chain.layers, chain.active]
  try {
    await host.layers.adopt(host.dir.vm(id), { ...chain, layers })
    await host.layers.sync()
  } catch (error) {
    host.log.error({ err: error, sandbox_id: id }, 'disk of a durable sandbox is lost')
    return false
  }
  // Of a hibernation that was begun, or of one that is over: its memory is older than the disk.
  // The sandbox is booted from its disk whether it can be removed or not.
  await rm(host.dir.hibernation(id), { recursive: true, force: true }).catch((error: unknown) =>
    host.log.error({ err: error, sandbox_id: id }, 'old checkpoint not removed'),
  )
  await announceDeath()
  const place = { slot: NO_SLOT, ...(manifest.slot === NO_SLOT ? {} : { home_slot: manifest.slot }) }
  const kept: Manifest = { ...manifest, ...place, status: 'hibernated', cold: true, layers, qemu: null }
  await commitChange(host, sandbox, kept, hibernatedDraft(null))
  await host.cgroups?.remove(manifest.slot)
  host.slots.park(manifest.slot, id)
  return true
}
