import { agentRecord, type AgentRecord } from '@offshoot/contract/agent-api'
import type { ServerSentEvent } from '@offshoot/kit/server-sent-events'

interface ReadRecords {
  readonly records: readonly AgentRecord[]
  /** Sequence number of the last record, readable or not; `null` without records. */
  readonly lastSeq: number | null
  readonly skipped: readonly { readonly seq: number; readonly error: unknown }[]
}

/**
 * Parses the records of an agent's log. It skips a record that this version cannot parse, because a newer agent wrote
 * it; otherwise that record would block all later ones for ever. The sequence number is the event's id.
 * @throws Error if an event has no sequence number either
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
