import { Deadline } from '@offshoot/kit/deadline'
import { signalProcess } from '@offshoot/kit/process-identity'
import { awaitEnd } from './await-end.ts'
import type { VmProcess } from './find-vm-processes.ts'

const KILL_MS = 10_000

/** Kills QEMUs, and waits until they have ended. */
export async function endVmProcesses(
  processes: readonly (Pick<VmProcess, 'process'> & Partial<VmProcess>)[],
): Promise<void> {
  const deadline = Deadline.after(KILL_MS, 'end of a QEMU')
  for (const { process, launcher } of processes) {
    // Also the launcher, which may be about to start a QEMU. A QEMU ends with its launcher.
    for (const each of launcher ? [launcher, process] : [process]) {
      if (signalProcess(each, 'SIGKILL')) await awaitEnd(each, deadline)
    }
  }
}
