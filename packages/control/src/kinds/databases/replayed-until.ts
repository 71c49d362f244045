/**
 * Until when a recovered database is complete: the time of its last transaction, by the clock of its server. An acknowledged
 * commit that is not there was acknowledged later. When the last file was archived says less: that may be long after the
 * file was complete, and others were committed meanwhile.
 * @param time as the server writes it into its log: `2026-11-27 00:14:25.123456+00`; empty: it has replayed no transaction
 * @param since before the backup, which contains all that was committed until then
 */
export function replayedUntil(time: string, since: Date): Date {
  const [, day, clock] = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?)\+00$/.exec(time.trim()) ?? []
  if (time.trim() !== '' && day === undefined) throw new Error(`not a time of the server: ${time.slice(0, 200)}`)
  return day === undefined ? since : new Date(Math.max(since.getTime(), Date.parse(`${day}T${clock}Z`)))
}
