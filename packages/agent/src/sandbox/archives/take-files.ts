import type { Readable } from 'node:stream'
import { GuestFileError } from '@offshoot/guest-link/guest-file-error'
import type { GuestFiles } from '@offshoot/guest-link/guest-files'
import { Deadline } from '@offshoot/kit/deadline'
import type { Sandbox } from '../model/sandbox.ts'
import type { Archive } from '../../store/archives/archive.ts'
import type { Archives } from '../../store/archives/archives.ts'
import { GAP, MAX_FILE_BYTES, namesIn, SPOOL } from '../../store/archives/spool.ts'

/** Milliseconds for one file, and for a look at all. */
const FILE_MS = 30_000

/**
 * Takes what a guest has put into its spool:
 *
 *     read whole → on the host's disk under its name → removed from the spool
 *
 * Killed anywhere it is begun anew: what is there under its name is whole, and is only removed from the spool.
 *
 * @returns how many files were there; `null` where the guest has no spool
 * @throws ArchiveFull; GuestFileError, GuestLinkLost and DeadlineExceeded of a guest that does not do its part
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
    // Opened when there is something to keep.
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

/** `null` for what is larger than anything that is to be kept. */
async function contentOf(files: GuestFiles, path: string, deadline: Deadline): Promise<Buffer | null> {
  const { stat, stream } = await files.read(path, { length: MAX_FILE_BYTES + 1, deadline })
  if (stat.size > MAX_FILE_BYTES) {
    stream.destroy()
    return null
  }
  return collect(stream, deadline)
}

async function collect(stream: Readable, deadline: Deadline): Promise<Buffer> {
  const giveUp = () => stream.destroy(new Error('too slow'))
  deadline.signal.addEventListener('abort', giveUp, { once: true })
  try {
    return Buffer.concat(await stream.toArray())
  } finally {
    deadline.signal.removeEventListener('abort', giveUp)
  }
}

function unlessMissing(error: unknown): null {
  if (error instanceof GuestFileError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null
  throw error
}
