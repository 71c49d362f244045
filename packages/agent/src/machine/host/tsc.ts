import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from './run-program.ts'

const SOURCE = join(import.meta.dirname, '../../../native/tsc-khz.c')
/** Two measurements of one counter differ by less; two hosts by more. */
const SAME_COUNTER_RATIO = 0.0005

/**
 * Speed of the host's time-stamp counter, kHz. JavaScript cannot read the counter, so a few lines of C do.
 * `known` is kept where it is the same counter: it belongs to the fingerprint of every bake.
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

/** Good enough where the counter is constant: the clock of the first CPU. */
async function nominalKhz(): Promise<number | null> {
  const text = await readFile('/proc/cpuinfo', 'utf8')
  const mhz = /^cpu MHz\s*:\s*([\d.]+)$/m.exec(text)?.[1]
  return mhz !== undefined && text.includes('constant_tsc') ? Math.round(Number(mhz) * 1000) : null
}
