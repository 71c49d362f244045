import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentRecord } from '@offshoot/contract/agent-api'

/** All records of an agent's event log, read from its files. */
export async function readRecords(folder: string): Promise<AgentRecord[]> {
  const records: AgentRecord[] = []
  for (const name of (await readdir(folder)).sort()) {
    const lines = (await readFile(join(folder, name), 'utf8')).split('\n').slice(0, -1)
    for (const line of lines) {
      try {
        records.push(JSON.parse(line) as AgentRecord)
      } catch {
        break // a torn tail, which the agent truncates at its next start
      }
    }
  }
  return records
}
