import { agentRecord, type AgentRecord } from '@offshoot/contract/agent-api'

const NEWLINE = 0x0a

export interface ParsedRecords {
  readonly records: readonly AgentRecord[]
  /** Bytes up to the end of the last complete record. What follows was never acknowledged. */
  readonly wholeBytes: number
}

export function formatRecord(record: AgentRecord): string {
  return `${JSON.stringify(record)}\n`
}

/** Parses JSON lines up to the first torn one: after a crash in mid-write, the file may end with any prefix of the write. */
export function parseRecords(content: Buffer): ParsedRecords {
  const records: AgentRecord[] = []
  let wholeBytes = 0
  for (let end = content.indexOf(NEWLINE); end >= 0; end = content.indexOf(NEWLINE, wholeBytes)) {
    const record = parseLine(content.subarray(wholeBytes, end))
    if (record === null) break
    records.push(record)
    wholeBytes = end + 1
  }
  return { records, wholeBytes }
}

function parseLine(line: Buffer): AgentRecord | null {
  try {
    return agentRecord.parse(JSON.parse(line.toString('utf8')))
  } catch {
    return null
  }
}
