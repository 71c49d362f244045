import { Deadline } from '@offshoot/kit/deadline'
import { signalProcess } from '@offshoot/kit/process-identity'
import { awaitEnd } from './await-end.ts'
import type { VmProcess } from './find-vm-processes.ts'

const KILL_MS = 10_000

/** Ends QEMUs at once, and waits until they are gone. */
export async function endVmProcesses(
  processes: readonly (Pick<VmProcess, 'process'> & Partial<VmProcess>)[],
): Promise<void> {
  const deadline = Deadline.after(KILL_MS, 'end of a QEMU')
  for (const { process, launcher } of processes) {
    // The launcher too: it may be about to start a QEMU, which ends with it.
    for (const each of launcher ? [launcher, process] : [process]) {
      if (await signalProcess(each, 'SIGKILL')) await awaitEnd(each, deadline)
    }
  }
}
