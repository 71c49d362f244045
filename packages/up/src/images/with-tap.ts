import { join } from 'node:path'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTree } from './content-hash.ts'
import type { Step } from './step.ts'

/** Builds the program through which QEMU inherits its TAP. */
export function withTapStep(): Step {
  const source = join(repositoryRoot, 'packages/agent/native/with-tap.c')
  return {
    name: 'with-tap',
    title: 'TAP program',
    after: [],
    outputs: ['with-tap'],
    maxSeconds: 60,
    inputsHash: () => hashTree(source),
    run: async (work) => {
      const output = join(work.folder, 'with-tap')
      await runCommand('cc', ['-O2', '-Wall', '-Wextra', '-Werror', '-o', output, source], { deadline: work.deadline })
    },
  }
}
