/** Bytes of a segment of WAL (templates/postgres-16). */
const SEGMENT_BYTES = 4 * 1024 * 1024
const SEGMENTS_OF_LOG = 2 ** 32 / SEGMENT_BYTES

interface Segment {
  readonly name: string
  readonly taken_at: Date
}

/**
 * Until when the WAL of a database has been replayed: when the last file was archived that the recovery has read.
 * @param history the last line of the newest timeline's history: `1 <tab> 0/5000060 <tab> reason`, where the recovery ended
 * @param since of the backup, which contains all that was committed before
 */
export function replayedUntil(segments: readonly Segment[], history: string, since: Date): Date {
  const [, log = '', position = ''] = /^\d+\s+([0-9A-F]{1,8})\/([0-9A-F]{1,8})\s/i.exec(history.trim()) ?? []
  if (log === '') throw new Error(`the recovery has not said where it ended: ${history.slice(0, 200)}`)
  const end = parseInt(log, 16) * SEGMENTS_OF_LOG + Math.floor(parseInt(position, 16) / SEGMENT_BYTES)
  const read = segments.filter(({ name }) => /^[0-9A-F]{24}$/.test(name) && numberOf(name) <= end)
  return new Date(Math.max(since.getTime(), ...read.map(({ taken_at: takenAt }) => takenAt.getTime())))
}

function numberOf(name: string): number {
  return parseInt(name.slice(8, 16), 16) * SEGMENTS_OF_LOG + parseInt(name.slice(16), 16)
}
