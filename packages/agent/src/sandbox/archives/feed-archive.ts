import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { GuestFileError } from '@offshoot/guest-link/guest-file-error'
import type { GuestFiles } from '@offshoot/guest-link/guest-files'
import { Deadline } from '@offshoot/kit/deadline'
import type { Sandbox } from '../model/sandbox.ts'
import type { Archive } from '../../store/archives/archive.ts'
import { GIVEN, namesIn, WANTED } from '../../store/archives/spool.ts'

/** Milliseconds for one round of requests, and between two rounds. */
const ROUND_MS = 60_000
const PAUSE_MS = 30
/** Files to provide ahead of the requests: the guest reads segments in sequence. */
const AHEAD = 3

type ReadFile = (name: string) => Promise<Buffer | null>

/**
 * Serves a recovering guest the files it requests from another sandbox's archive, until `over` aborts. The guest requests a file
 * by creating a file of that name. If the archive lacks it, the agent answers with an empty file `NAME.none`.
 * @param read `null` if no such file was archived
 * @throws what `read` throws; GuestFileError, GuestLinkLost, DeadlineExceeded
 */
export async function feedArchive(
  sandbox: Sandbox,
  archive: Pick<Archive, 'names'>,
  read: ReadFile,
  over: AbortSignal,
): Promise<void> {
  const signal = AbortSignal.any([over, sandbox.leaving.signal])
  while (!signal.aborted) {
    const deadline = Deadline.after(ROUND_MS, `recovery of ${sandbox.id}`, sandbox.leaving.signal)
    const { vm } = sandbox
    if (vm === null) return
    await feedRound((await vm.link(deadline)).files, archive, read, deadline)
    await wait(PAUSE_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function feedRound(
  files: GuestFiles,
  { names }: Pick<Archive, 'names'>,
  read: ReadFile,
  deadline: Deadline,
): Promise<void> {
  const wanted = await namesIn(files.list(WANTED, { deadline })).catch(emptyIfMissing)
  if (wanted.length === 0) return
  const given = new Set(await namesIn(files.list(GIVEN, { deadline })).catch(emptyIfMissing))
  for (const name of wanted) if (!given.has(name)) await give(files, read, name, deadline)
  const last = wanted.at(-1) ?? ''
  const next = names.slice(names.findIndex((name) => name > last)).filter((name) => isSegmentAfter(last, name))
  for (const name of next.slice(0, AHEAD)) if (!given.has(name)) await give(files, read, name, deadline)
}

/** Whether `name` is a later segment of the same timeline. */
function isSegmentAfter(last: string, name: string): boolean {
  return name.length === last.length && name > last && name.slice(0, 8) === last.slice(0, 8)
}

async function give(files: GuestFiles, read: ReadFile, name: string, deadline: Deadline): Promise<void> {
  const content = await read(name)
  const path = content === null ? `${GIVEN}/${name}.none` : `${GIVEN}/${name}`
  // The database server's user must be able to read the file. It also removes it.
  await files.write(path, Readable.from([content ?? Buffer.alloc(0)]), { mode: 0o644, deadline })
}

/** The folders do not exist before the recovery begins and after it has ended. */
function emptyIfMissing(error: unknown): readonly string[] {
  if (error instanceof GuestFileError && error.code === 'ENOENT') return []
  throw error
}
