import { copyFile, cp } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTree } from './content-hash.ts'
import type { Step } from './step.ts'

/** What the program is not made of. */
const UNUSED = new Set(['build', 'test', 'PROTOCOL.md'])

/** Builds the static program that is init and agent of every guest. Its Makefile has the details. */
export function guestProgramStep(): Step {
  const source = join(repositoryRoot, 'guest')
  return {
    name: 'guest-program',
    title: 'guest program',
    after: [],
    outputs: ['offshoot-guest'],
    maxSeconds: 300,
    inputsHash: () => hashTree(source, UNUSED),
    run: async (work) => {
      // In a copy, because the user need not be allowed to write to the program's own folder.
      const copy = join(work.folder, '.guest')
      await cp(source, copy, { recursive: true, filter: (path) => !UNUSED.has(relative(source, path)) })
      await runCommand('make', ['-C', copy], { deadline: work.deadline })
      await copyFile(join(copy, 'build/offshoot-guest'), join(work.folder, 'offshoot-guest'))
    },
  }
}
