import { Deadline } from '@offshoot/kit/deadline'
import { signalProcess } from '@offshoot/kit/process-identity'
import { awaitEnd } from './await-end.ts'
import type { VmProcess } from './find-vm-processes.ts'

const KILL_MS = 10_000

/** Ends QEMUs at once, and waits until they are gone. */
export async function endVmProcesses(processes: readonly Pick<VmProcess, 'process'>[]): Promise<void> {
  const deadline = Deadline.after(KILL_MS, 'end of a QEMU')
  for (const { process } of processes) {
    if (await signalProcess(process, 'SIGKILL')) await awaitEnd(process, deadline)
  }
}
