import { join } from 'node:path'
import { repositoryRoot } from '../repository.ts'
import { runCommand } from '../run-command.ts'
import { hashTree } from './content-hash.ts'
import type { Step } from './step.ts'

/** The preload object by which QEMU before 8.2 opens a snapshot's memory file read-only. */
export function readonlyMemoryStep(): Step {
  const source = join(repositoryRoot, 'packages/agent/native/readonly-memory.c')
  return {
    name: 'readonly-memory',
    title: 'preload object',
    after: [],
    outputs: ['readonly-memory.so'],
    maxSeconds: 60,
    inputsHash: () => hashTree(source),
    run: async (work) => {
      const output = join(work.folder, 'readonly-memory.so')
      await runCommand('cc', ['-shared', '-fPIC', '-O2', '-Wall', '-Wextra', '-Werror', '-o', output, source], {
        deadline: work.deadline,
      })
    },
  }
}
