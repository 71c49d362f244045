import { join } from 'node:path'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTrees } from './content-hash.ts'
import type { Step } from './step.ts'

/** Builds the program that starts QEMU in its jail. Static linking makes it start faster and use less memory. */
export function jailStep(): Step {
  const native = join(repositoryRoot, 'packages/agent/native')
  const sources = ['jail.c', 'jail-options.c', 'jail-filter.c', 'jail-rights.c', 'jail-zygote.c', 'jail-lease.c'].map(
    (name) => join(native, name),
  )
  const inputs = [...sources, join(native, 'jail.h'), join(native, 'zygote.h')]
  return {
    name: 'jail',
    title: 'jail program',
    after: [],
    outputs: ['jail'],
    maxSeconds: 60,
    inputsHash: () => hashTrees(inputs),
    run: async (work) => {
      const output = join(work.folder, 'jail')
      await runCommand('cc', ['-static', '-O2', '-Wall', '-Wextra', '-Werror', '-o', output, ...sources], {
        deadline: work.deadline,
      })
    },
  }
}
