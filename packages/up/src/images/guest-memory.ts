import { join } from 'node:path'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTrees } from './content-hash.ts'
import type { Step } from './step.ts'

const SOURCES = [
  'guest-memory.c',
  'kept-memory.c',
  'memory-image.c',
  'zygote.c',
  'zygote-threads.c',
  'zygote-child.c',
  'zygote-state.c',
  'zygote-hooks.c',
  'jail-filter.c',
  'jail-rights.c',
]
const HEADERS = ['guest-memory.h', 'jail.h', 'memory-image.h', 'zygote.h', 'zygote-process.h']

/** Builds the preload library that provides QEMU's guest memory, so that the agent can capture and copy it. */
export function guestMemoryStep(): Step {
  const native = join(repositoryRoot, 'packages/agent/native')
  const sources = SOURCES.map((name) => join(native, name))
  const inputs = [...sources, ...HEADERS.map((name) => join(native, name))]
  return {
    name: 'guest-memory',
    title: 'preload object',
    after: [],
    outputs: ['guest-memory.so'],
    maxSeconds: 60,
    inputsHash: () => hashTrees(inputs),
    run: async (work) => {
      const output = join(work.folder, 'guest-memory.so')
      await runCommand('cc', ['-shared', '-fPIC', '-O2', '-Wall', '-Wextra', '-Werror', '-o', output, ...sources], {
        deadline: work.deadline,
      })
    },
  }
}
