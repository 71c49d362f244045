/**
 * The service changes its version without changing its process: the supervisor ends its services, and then becomes
 * `bin/up` of the other version (execve(2)), with the same arguments and variables. systemd, or the terminal, sees one
 * process all the time, and VMs keep running.
 *
 *     requested → done       the other version became healthy
 *     requested → returned   it did not, and the version before runs again
 */
import { access, constants, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import type { DataLayout } from './base/data-layout.ts'
import { repositoryRoot } from './base/repository.ts'

/** `bin/up` of the version that this process runs. */
export const OWN_PROGRAM = join(repositoryRoot, 'bin/up')
/** Asks a supervisor to hand over, as `DIR/handover.json` says. */
export const HAND_OVER_SIGNAL = 'SIGUSR2'

/** `DIR/handover.json`: the last change of the version. */
const handover = z.object({
  /** Absolute paths of `bin/up`. */
  from: z.string(),
  to: z.string(),
  state: z.enum(['requested', 'done', 'returned']),
  /** Why `to` did not become healthy. */
  reason: z.string().nullable(),
})
export type Handover = z.infer<typeof handover>

/** `null`: the version has never changed, or the file is unreadable. */
export async function readHandover({ handover: path }: DataLayout): Promise<Handover | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  try {
    return handover.parse(JSON.parse(text ?? 'null'))
  } catch {
    return null
  }
}

export async function writeHandover({ handover: path }: DataLayout, value: Handover): Promise<void> {
  await writeFileDurably(path, `${JSON.stringify(value, null, 2)}\n`)
}

/** Records that this version serves. */
export async function settleHandover(layout: DataLayout): Promise<void> {
  const found = await readHandover(layout)
  if (found?.state !== 'requested') return
  if (found.to === OWN_PROGRAM) await writeHandover(layout, { ...found, state: 'done' })
  else if (found.from === OWN_PROGRAM) {
    const reason = found.reason ?? 'it ended at its start'
    await writeHandover(layout, { ...found, state: 'returned', reason })
  }
}

/** The program that was requested; `null`: none, or it cannot be run. */
export async function requestedProgram(layout: DataLayout): Promise<string | null> {
  const found = await readHandover(layout)
  return found?.state === 'requested' && found.from === OWN_PROGRAM ? runnable(found.to) : null
}

/** Records why this version could not start, if it is on trial. @returns the program to go back to; `null`: none */
export async function failedTrial(layout: DataLayout, error: unknown): Promise<string | null> {
  const found = await readHandover(layout)
  if (found?.state !== 'requested' || found.to !== OWN_PROGRAM) return null
  const reason = error instanceof Error ? error.message : String(error)
  await writeHandover(layout, { ...found, reason })
  return runnable(found.from)
}

async function runnable(program: string): Promise<string | null> {
  return access(program, constants.X_OK).then(
    () => program,
    () => null,
  )
}

/** Becomes another program. All services must have ended. */
export function become(program: string, argv: readonly string[]): never {
  // `bin/up` has set it to a folder of this version.
  const { NODE_COMPILE_CACHE: cache, ...others } = process.env
  const isOurs = cache === join(repositoryRoot, '.offshoot/compile-cache')
  // Node.js would print that the call is experimental.
  process.removeAllListeners('warning')
  if (process.execve === undefined) throw new Error('Node.js cannot become another program here')
  return process.execve(program, [program, ...argv], isOurs || cache === undefined ? others : process.env)
}
