import { join } from 'node:path'
import { repositoryRoot } from '../repository.ts'
import { runCommand } from '../run-command.ts'
import { hashTree } from './content-hash.ts'
import type { Step } from './step.ts'

/** A small program for what JavaScript has no words for. @param name of its source in `packages/agent/native` */
export function hostProgramStep(name: string, title: string): Step {
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
