import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { z } from 'zod'
import { RELEASE_RECORD } from '../base/product.ts'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'

const releaseRecord = z.object({ commit: z.string() })

/** The commit of this release or checkout; `unknown` without git or outside a checkout. */
export async function readCommit(): Promise<string> {
  const record = await readFile(join(repositoryRoot, RELEASE_RECORD), 'utf8').catch(() => null)
  if (record !== null) return releaseRecord.parse(JSON.parse(record)).commit
  const deadline = Deadline.after(10_000, 'git rev-parse')
  try {
    return (await runCommand('git', ['-C', repositoryRoot, 'rev-parse', 'HEAD'], { deadline })).trim()
  } catch {
    return 'unknown'
  }
}
