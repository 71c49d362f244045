/** Where a durable guest puts what is to be kept, and where it looks for what it is given back (templates/postgres-16). */
export const SPOOL = '/var/spool/offshoot/ready'
export const WANTED = '/run/offshoot-postgres/exchange/wanted'
export const GIVEN = '/run/offshoot-postgres/exchange/given'

/** Bytes of one file. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024
/** Entries of a folder that are looked at: a guest may put there what it likes. */
const MAX_ENTRIES = 64

/** Segments, histories of timelines and labels of backups, as PostgreSQL names them, and the mark of a gap. */
const NAME = /^(?:[0-9A-F]{24}(?:\.[0-9A-F]{8}\.backup)?|[0-9A-F]{8}\.history|lost)$/

/** The file that says that something was not kept. */
export const GAP = 'lost'

/** Whether a guest may have something kept under this name: it becomes a file's on the host. */
export function isArchiveName(name: string): boolean {
  return NAME.test(name)
}

/** Names in a folder of the guest that are such, in order. @throws GuestFileError ENOENT where there is no such folder */
export async function namesIn(entries: AsyncIterable<{ readonly name: Buffer }>): Promise<readonly string[]> {
  const names: string[] = []
  let seen = 0
  for await (const { name } of entries) {
    const text = name.toString('latin1')
    if (isArchiveName(text)) names.push(text)
    if (++seen === MAX_ENTRIES) break
  }
  return names.toSorted()
}
