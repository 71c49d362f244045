import { readFile } from 'node:fs/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from './run-program.ts'

/** Maximum difference of two measurements of one counter. Two hosts differ by more. */
const SAME_COUNTER_RATIO = 0.0005

/**
 * Measures the frequency of the host's time-stamp counter, in kHz, with a small C program, because JavaScript cannot read
 * the counter. Returns `known` if it is the same counter, because every bake's fingerprint contains it.
 * @param program path of the built native/tsc-khz.c
 */
export async function measureTscKhz(program: string, known: number | undefined, deadline: Deadline): Promise<number> {
  const measured = await measure(program, deadline)
  const isSame = known !== undefined && Math.abs(measured - known) / known < SAME_COUNTER_RATIO
  return isSame ? known : measured
}

async function measure(program: string, deadline: Deadline): Promise<number> {
  try {
    return Number((await runProgram(program, [], deadline)).trim())
  } catch (error) {
    const khz = await nominalKhz()
    if (khz === null) throw new Error('the speed of the time-stamp counter cannot be measured', { cause: error })
    return khz
  }
}

/** The nominal clock of the first CPU: precise enough for a constant counter. */
async function nominalKhz(): Promise<number | null> {
  const text = await readFile('/proc/cpuinfo', 'utf8')
  const mhz = /^cpu MHz\s*:\s*([\d.]+)$/m.exec(text)?.[1]
  return mhz !== undefined && text.includes('constant_tsc') ? Math.round(Number(mhz) * 1000) : null
}
