import { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from './run-program.ts'

const PRLIMIT_MS = 5000

/** No core files of us or of any QEMU we start: they hold guests' memory. The limit is inherited. */
export async function forbidCoreDumps(): Promise<void> {
  await runProgram('prlimit', ['--pid', String(process.pid), '--core=0:0'], Deadline.after(PRLIMIT_MS, 'prlimit'))
}
