import type { Readable } from 'node:stream'
import { GuestFileError } from '@offshoot/guest-link/guest-file-error'
import type { GuestFiles } from '@offshoot/guest-link/guest-files'
import { Deadline } from '@offshoot/kit/deadline'
import type { Sandbox } from '../model/sandbox.ts'
import type { Archive } from '../../store/archives/archive.ts'
import type { Archives } from '../../store/archives/archives.ts'
import { GAP, MAX_FILE_BYTES, namesIn, SPOOL } from '../../store/archives/spool.ts'

/** Milliseconds for one file, and for listing the spool. */
const FILE_MS = 30_000

/**
 * Archives the files in a guest's spool. For each file:
 *
 *     read the whole file → write it durably to the archive → remove it from the spool
 *
 * If the agent is killed between two steps, the next call repeats them. A file that the archive already has is complete, and is
 * only removed from the spool.
 *
 * @returns the number of spooled files; `null` if the guest has no spool
 * @throws ArchiveFull; GuestFileError, GuestLinkLost or DeadlineExceeded if the guest misbehaves
 */
export async function takeFiles(
  archives: Archives,
  sandbox: Pick<Sandbox, 'id' | 'vm' | 'leaving'>,
  spool = SPOOL,
): Promise<number | null> {
  const { vm } = sandbox
  if (vm === null) return 0
  return archives.exclusively(sandbox, async () => {
    const deadline = Deadline.after(FILE_MS, `spool of ${sandbox.id}`, sandbox.leaving.signal)
    const { files } = await vm.link(deadline)
    const names = await namesIn(files.list(spool, { deadline })).catch(unlessMissing)
    if (names === null) return null
    // Open the archive, which creates its folder, only if there is something to archive.
    if (names.length === 0) return 0
    const archive = await archives.of(sandbox)
    for (const name of names)
      await archives.transfers.run(() => takeFile(sandbox, files, archive, { name, path: `${spool}/${name}` }))
    return names.length
  })
}

interface Spooled {
  readonly name: string
  readonly path: string
}

async function takeFile(
  { id, leaving }: Pick<Sandbox, 'id' | 'leaving'>,
  files: GuestFiles,
  archive: Archive,
  { name, path }: Spooled,
): Promise<void> {
  const deadline = Deadline.after(FILE_MS, `${name} of ${id}`, leaving.signal)
  if (name === GAP) await archive.markGap()
  else if (!archive.has(name)) {
    const content = await deadline.race(contentOf(files, path, deadline))
    leaving.signal.throwIfAborted()
    if (content === null) await archive.markGap()
    else await archive.put(name, content)
  }
  await files.remove(path, { deadline })
}

/** `null` for a file larger than the maximum. */
async function contentOf(files: GuestFiles, path: string, deadline: Deadline): Promise<Buffer | null> {
  const { stat, stream } = await files.read(path, { length: MAX_FILE_BYTES + 1, deadline })
  if (stat.size > MAX_FILE_BYTES) {
    stream.destroy()
    return null
  }
  return collect(stream, deadline)
}

async function collect(stream: Readable, deadline: Deadline): Promise<Buffer> {
  const abort = () => stream.destroy(new Error('too slow'))
  deadline.signal.addEventListener('abort', abort, { once: true })
  try {
    return Buffer.concat(await stream.toArray())
  } finally {
    deadline.signal.removeEventListener('abort', abort)
  }
}

function unlessMissing(error: unknown): null {
  if (error instanceof GuestFileError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null
  throw error
}
