import { join } from 'node:path'
import { repositoryRoot } from '../repository.ts'
import { runCommand } from '../run-command.ts'
import { hashTree } from './content-hash.ts'
import type { Step } from './step.ts'

/** The preload object that gives QEMU its guest's memory. */
export function guestMemoryStep(): Step {
  const source = join(repositoryRoot, 'packages/agent/native/guest-memory.c')
  return {
    name: 'guest-memory',
    title: 'preload object',
    after: [],
    outputs: ['guest-memory.so'],
    maxSeconds: 60,
    inputsHash: () => hashTree(source),
    run: async (work) => {
      const output = join(work.folder, 'guest-memory.so')
      await runCommand('cc', ['-shared', '-fPIC', '-O2', '-Wall', '-Wextra', '-Werror', '-o', output, source], {
        deadline: work.deadline,
      })
    },
  }
}
