/** Bytes of a segment of WAL (templates/postgres-16). */
const SEGMENT_BYTES = 4 * 1024 * 1024
const SEGMENTS_OF_LOG = 2 ** 32 / SEGMENT_BYTES

/**
 * Until when a recovered database is complete: the time of its last transaction, by the clock of its server. An acknowledged
 * commit that is not there was acknowledged later. When the last file was archived says less: that may be long after the
 * file was complete, and others were committed meanwhile.
 *
 * But that clock may have been ahead, and put right since: then lost commits have earlier times. All that is in the archive
 * was committed before control was told of its last file.
 * @param time as the server writes it into its log: `2026-11-27 00:14:25.123456+00`; empty: it has replayed no transaction
 * @param since before the backup, which contains all that was committed until then
 * @param files of the archive, with when control was told of each
 */
export function replayedUntil(time: string, since: Date, files: readonly { recorded_at: Date }[]): Date {
  const [, day, clock] = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?)\+00$/.exec(time.trim()) ?? []
  if (time.trim() !== '' && day === undefined) throw new Error(`not a time of the server: ${time.slice(0, 200)}`)
  if (day === undefined) return since
  const told = Math.max(...files.map(({ recorded_at: at }) => at.getTime()))
  return new Date(Math.max(since.getTime(), Math.min(Date.parse(`${day}T${clock}Z`), told)))
}

/**
 * Whether a recovery has read every file of the archive: after a gap, nothing is read.
 * @param history the last line of the newest timeline's history: `1 <tab> 0/5000060 <tab> reason`, where the recovery ended
 */
export function hasReadAll(names: readonly string[], history: string): boolean {
  const [, log = '', position = ''] = /^\d+\s+([0-9A-F]{1,8})\/([0-9A-F]{1,8})\s/i.exec(history.trim()) ?? []
  if (log === '') throw new Error(`the recovery has not said where it ended: ${history.slice(0, 200)}`)
  const end = parseInt(log, 16) * SEGMENTS_OF_LOG + Math.floor(parseInt(position, 16) / SEGMENT_BYTES)
  return names.every((name) => !/^[0-9A-F]{24}$/.test(name) || numberOf(name) <= end)
}

function numberOf(name: string): number {
  return parseInt(name.slice(8, 16), 16) * SEGMENTS_OF_LOG + parseInt(name.slice(16), 16)
}
