import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { CommandFailed, runCommand } from '../base/run-command.ts'
import { hashTexts } from './content-hash.ts'
import { backportsOf, debianMirror, hostRelease } from './debian-mirror.ts'
import { fetchFromSources } from './debian-package.ts'
import type { Step, StepWork } from './step.ts'

const PROGRAM = 'qemu-system-x86_64'
/** From this version on, emulated guests start processes several times as fast (docs/adr/0039-newer-qemu.md). */
const WANTED_MAJOR = 10
/** Increment when this step's output changes for equal inputs. */
const VERSION = '1'

/**
 * The folder `qemu/` with a newer QEMU than the host's, from the backports of the host's Debian release. The host's own
 * package stays as it is, and has the libraries and the firmware. The folder is empty if the host's QEMU is new enough,
 * or if the host's mirror has no backports.
 */
export function qemuStep(): Step {
  return {
    name: 'qemu',
    title: 'QEMU',
    after: [],
    outputs: ['qemu'],
    maxSeconds: 300,
    inputsHash: async () => hashTexts(VERSION, process.arch, await hostVersion()),
    run,
  }
}

async function run(work: StepWork): Promise<void> {
  const folder = join(work.folder, 'qemu')
  await mkdir(folder)
  if (process.arch !== 'x64' || majorOf(await hostVersion()) >= WANTED_MAJOR) return
  const sources = backportsOf(await debianMirror(await hostRelease()))
  if (sources.length === 0) return
  work.report('downloading')
  try {
    const { folder: unpacked } = await fetchFromSources(work, sources, 'qemu-system-x86')
    const program = join(unpacked, 'usr/bin', PROGRAM)
    // It must find the libraries of the host's package.
    await runCommand(program, ['--version'], { deadline: work.deadline })
    // Its time is that of the package, so the same package is the same QEMU to the agent.
    await rename(program, join(folder, PROGRAM))
  } catch (error) {
    work.deadline.throwIfOver()
    if (!(error instanceof CommandFailed)) throw error
    work.report(`the host's own is used: ${error.message}`)
  }
}

/** What the host's QEMU says of its version and its package. After an update of the package, the step runs again. */
async function hostVersion(): Promise<string> {
  const deadline = Deadline.after(20_000, 'asking for the version of QEMU')
  return runCommand(PROGRAM, ['--version'], { deadline })
}

/** @param output of `--version`; NaN if it names none */
function majorOf(output: string): number {
  return Number.parseInt(/version (\d+)/.exec(output)?.[1] ?? '', 10)
}
