/** Folders in a durable guest (templates/postgres-16): finished files; requests and answers during a recovery. */
export const SPOOL = '/var/spool/offshoot/ready'
export const WANTED = '/run/offshoot-postgres/exchange/wanted'
export const GIVEN = '/run/offshoot-postgres/exchange/given'

/** Maximum bytes of one file. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024
/** Maximum entries to list: an untrusted guest may create any number. */
const MAX_ENTRIES = 64

/** PostgreSQL's names of WAL segments, backup labels and timeline histories, and the gap marker. */
const NAME = /^(?:[0-9A-F]{24}(?:\.[0-9A-F]{8}\.backup)?|[0-9A-F]{8}\.history|lost)$/

/** The gap marker: this file means that a segment was lost. */
export const GAP = 'lost'

/** Whether a guest may archive a file under this name. The host uses the name as a file name. */
export function isArchiveName(name: string): boolean {
  return NAME.test(name)
}

/** The valid archive names in a folder of the guest, sorted. @throws GuestFileError ENOENT if the folder does not exist */
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
