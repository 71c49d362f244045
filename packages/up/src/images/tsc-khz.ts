import { join } from 'node:path'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTree } from './content-hash.ts'
import type { Step } from './step.ts'

/** Builds the program that measures the host's time-stamp counter. */
export function tscKhzStep(): Step {
  const source = join(repositoryRoot, 'packages/agent/native/tsc-khz.c')
  return {
    name: 'tsc-khz',
    title: 'clock program',
    after: [],
    outputs: ['tsc-khz'],
    maxSeconds: 60,
    inputsHash: () => hashTree(source),
    run: async (work) => {
      const output = join(work.folder, 'tsc-khz')
      await runCommand('cc', ['-O2', '-Wall', '-Wextra', '-Werror', '-o', output, source], { deadline: work.deadline })
    },
  }
}
