import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from './run-program.ts'

const SOURCE = join(import.meta.dirname, '../../../native/tsc-khz.c')
/** Maximum difference of two measurements of one counter. Two hosts differ by more. */
const SAME_COUNTER_RATIO = 0.0005

/**
 * Measures the frequency of the host's time-stamp counter, in kHz, with a small C program, because JavaScript cannot read
 * the counter. Returns `known` if it is the same counter, because every bake's fingerprint contains it.
 */
export async function measureTscKhz(known: number | undefined, deadline: Deadline): Promise<number> {
  const measured = await measure(deadline)
  const isSame = known !== undefined && Math.abs(measured - known) / known < SAME_COUNTER_RATIO
  return isSame ? known : measured
}

async function measure(deadline: Deadline): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-tsc-'))
  try {
    const program = join(folder, 'tsc-khz')
    await runProgram('cc', ['-O1', '-Wall', '-Wextra', '-Werror', '-o', program, SOURCE], deadline)
    return Number((await runProgram(program, [], deadline)).trim())
  } catch (error) {
    const khz = await nominalKhz()
    if (khz === null)
      throw new Error('the speed of the time-stamp counter cannot be measured: no C compiler', { cause: error })
    return khz
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The nominal clock of the first CPU: precise enough for a constant counter. */
async function nominalKhz(): Promise<number | null> {
  const text = await readFile('/proc/cpuinfo', 'utf8')
  const mhz = /^cpu MHz\s*:\s*([\d.]+)$/m.exec(text)?.[1]
  return mhz !== undefined && text.includes('constant_tsc') ? Math.round(Number(mhz) * 1000) : null
}
