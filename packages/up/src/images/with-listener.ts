import { join } from 'node:path'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTree } from './content-hash.ts'
import type { Step } from './step.ts'

/** Builds the program that gives the agent its socket in the rootless mode. */
export function withListenerStep(): Step {
  const source = join(repositoryRoot, 'packages/agent/native/with-listener.c')
  return {
    name: 'with-listener',
    title: 'listener program',
    after: [],
    outputs: ['with-listener'],
    maxSeconds: 60,
    inputsHash: () => hashTree(source),
    run: async (work) => {
      const output = join(work.folder, 'with-listener')
      await runCommand('cc', ['-O2', '-Wall', '-Wextra', '-Werror', '-o', output, source], { deadline: work.deadline })
    },
  }
}
