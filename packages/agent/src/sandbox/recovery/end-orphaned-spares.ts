import { emptyFolder } from '../../store/data-dir/folders.ts'
import { endVmProcesses } from '../../machine/host/end-vm-processes.ts'
import type { VmProcess } from '../../machine/host/find-vm-processes.ts'
import type { HostStore } from '../model/host.ts'

/**
 * Ends the spares of an earlier agent process, even one that was being made or taken, and prestarted QEMUs that wait for a
 * capture.
 * @returns the other processes
 */
export async function endOrphanedSpares({ dir }: HostStore, processes: readonly VmProcess[]): Promise<VmProcess[]> {
  const isSpare = ({ folder }: VmProcess) => folder.startsWith(`${dir.spares}/`)
  await endVmProcesses(processes.filter(isSpare))
  await emptyFolder(dir.spares)
  return processes.filter((process) => !isSpare(process))
}
