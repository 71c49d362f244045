import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTree } from './content-hash.ts'
import type { Step } from './step.ts'

/** Builds the static program that is init and agent of every guest. Its Makefile has the details. */
export function guestProgramStep(): Step {
  const source = join(repositoryRoot, 'guest')
  return {
    name: 'guest-program',
    title: 'guest program',
    after: [],
    outputs: ['offshoot-guest'],
    maxSeconds: 300,
    inputsHash: () => hashTree(source, new Set(['build', 'test', 'PROTOCOL.md'])),
    run: async (work) => {
      await runCommand('make', ['-C', source], { deadline: work.deadline })
      await copyFile(join(source, 'build/offshoot-guest'), join(work.folder, 'offshoot-guest'))
    },
  }
}
