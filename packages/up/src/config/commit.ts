import { Deadline } from '@offshoot/kit/deadline'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'

/** The commit of this checkout; `unknown` without git or outside a checkout. */
export async function readCommit(): Promise<string> {
  const deadline = Deadline.after(10_000, 'git rev-parse')
  try {
    return (await runCommand('git', ['-C', repositoryRoot, 'rev-parse', 'HEAD'], { deadline })).trim()
  } catch {
    return 'unknown'
  }
}
