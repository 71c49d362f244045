import { agentRecord, type AgentRecord } from '@offshoot/contract/agent-api'
import type { ServerSentEvent } from '@offshoot/kit/server-sent-events'

interface ReadRecords {
  readonly records: readonly AgentRecord[]
  /** Number of the last one, read or not; `null` of none at all. */
  readonly lastSeq: number | null
  readonly skipped: readonly { readonly seq: number; readonly error: unknown }[]
}

/**
 * The records of an agent's log. One that this version does not understand, because a newer agent wrote it, is passed over: otherwise
 * it would hold up all that follow for ever. Its number is the event's id.
 * @throws Error it has no number either
 */
export function readRecords(events: readonly ServerSentEvent[]): ReadRecords {
  const records: AgentRecord[] = []
  const skipped: { seq: number; error: unknown }[] = []
  let lastSeq: number | null = null
  for (const { id, data } of events) {
    const read = readRecord(data)
    if ('record' in read) {
      records.push(read.record)
      lastSeq = read.record.seq
      continue
    }
    lastSeq = Number(id ?? Number.NaN)
    if (!Number.isSafeInteger(lastSeq)) throw read.error
    skipped.push({ seq: lastSeq, error: read.error })
  }
  return { records, lastSeq, skipped }
}

function readRecord(data: string): { record: AgentRecord } | { error: unknown } {
  try {
    return { record: agentRecord.parse(JSON.parse(data)) }
  } catch (error) {
    return { error }
  }
}
