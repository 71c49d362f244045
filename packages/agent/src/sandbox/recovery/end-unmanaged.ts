import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import { endVmProcesses } from '../../machine/host/end-vm-processes.ts'
import type { VmProcess } from '../../machine/host/find-vm-processes.ts'
import type { Host, HostStore } from '../model/host.ts'

/** The sandbox in whose folder a QEMU runs; `null` for a bake's QEMU. */
export function sandboxOf(store: HostStore, folder: string): SandboxId | null {
  if (!folder.startsWith(`${store.dir.sandboxes}/`)) return null
  return parseSandboxId(folder.slice(store.dir.sandboxes.length + 1).split('/')[0] ?? '')
}

/** Ends an orphaned QEMU, which belongs to no sandbox, and logs an event. */
export async function endUnmanaged(host: Host, id: SandboxId | null, found: VmProcess): Promise<void> {
  const { process } = found
  await endVmProcesses([found])
  host.log.warn({ sandbox_id: id, pid: process.pid }, 'QEMU without a sandbox ended')
  // The QEMU of an interrupted bake never belonged to a sandbox.
  if (id === null) return
  const message = 'a VM without a sandbox was found and ended'
  await host.store.events.append({ type: 'recover.unmanaged', sandboxId: id, workspaceId: null, message, metadata: {} })
  host.store.events.forget(id)
}
