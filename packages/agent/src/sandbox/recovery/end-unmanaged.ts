import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import { endVmProcesses } from '../../machine/host/end-vm-processes.ts'
import type { VmProcess } from '../../machine/host/find-vm-processes.ts'
import type { Host } from '../model/host.ts'

/** The sandbox in whose folder a QEMU works; `null` for a bake's. */
export function sandboxOf(host: Host, folder: string): SandboxId | null {
  if (!folder.startsWith(`${host.dir.sandboxes}/`)) return null
  return parseSandboxId(folder.slice(host.dir.sandboxes.length + 1).split('/')[0] ?? '')
}

/** Ends a QEMU of which there is no sandbox, and says so. */
export async function endUnmanaged(host: Host, id: SandboxId | null, found: VmProcess): Promise<void> {
  const { process } = found
  await endVmProcesses([found])
  host.log.warn({ sandbox_id: id, pid: process.pid }, 'QEMU without a sandbox ended')
  // A bake that its agent did not live to finish was never anybody's sandbox.
  if (id === null) return
  const message = 'a VM without a sandbox was found and ended'
  await host.events.append({ type: 'recover.unmanaged', sandboxId: id, workspaceId: null, message, metadata: {} })
  host.events.forget(id)
}
