import { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from './run-program.ts'

const PRLIMIT_MS = 5000

/** Forbids core files of the agent and of QEMUs, because they contain guests' memory. Children inherit the limit. */
export async function forbidCoreDumps(): Promise<void> {
  await runProgram('prlimit', ['--pid', String(process.pid), '--core=0:0'], Deadline.after(PRLIMIT_MS, 'prlimit'))
}
