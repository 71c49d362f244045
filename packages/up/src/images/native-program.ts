import { join } from 'node:path'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTree } from './content-hash.ts'
import type { Step } from './step.ts'

/** Builds a program of the agent that is one file in C: packages/agent/native/NAME.c. */
function nativeProgramStep(name: string, title: string): Step {
  const source = join(repositoryRoot, `packages/agent/native/${name}.c`)
  return {
    name,
    title,
    after: [],
    outputs: [name],
    maxSeconds: 60,
    inputsHash: () => hashTree(source),
    run: async (work) => {
      const output = join(work.folder, name)
      await runCommand('cc', ['-O2', '-Wall', '-Wextra', '-Werror', '-o', output, source], { deadline: work.deadline })
    },
  }
}

/** The program through which QEMU inherits its TAP. */
export const withTapStep = () => nativeProgramStep('with-tap', 'TAP program')

/** The program that gives the agent its socket in the rootless mode. */
export const withListenerStep = () => nativeProgramStep('with-listener', 'listener program')

/** The program that measures the host's time-stamp counter. */
export const tscKhzStep = () => nativeProgramStep('tsc-khz', 'clock program')

/** The program that writes large files to the disk without stopping others. */
export const writeOutStep = () => nativeProgramStep('write-out', 'disk program')
