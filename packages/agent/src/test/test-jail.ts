import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { type Jail, openJail } from '../machine/host/jail.ts'
import { findQemu } from '../machine/host/qemu.ts'
import { runProgram } from '../machine/host/run-program.ts'

const NATIVE = join(import.meta.dirname, '../../native')

/** A jail for tests without images. Compiles the launcher, and builds the jail's root from the host's QEMU. */
export class TestJail {
  /** Every user may traverse it. */
  readonly folder: string
  readonly jail: Jail

  private constructor(folder: string, jail: Jail) {
    this.folder = folder
    this.jail = jail
  }

  static async open(): Promise<TestJail> {
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-jail-'))
    const deadline = Deadline.after(60_000, 'a jail for tests')
    const launcher = join(folder, 'jail')
    const sources = ['jail.c', 'jail-options.c', 'jail-filter.c', 'jail-rights.c', 'jail-zygote.c', 'jail-lease.c'].map(
      (name) => join(NATIVE, name),
    )
    await runProgram('cc', ['-static', '-O1', '-Wall', '-Wextra', '-Werror', ...sources, '-o', launcher], deadline)
    const qemu = await findQemu(deadline)
    const jail = await openJail(join(folder, 'qemu'), { qemu, launcher, preload: launcher }, deadline)
    return new TestJail(folder, jail)
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true })
  }
}
