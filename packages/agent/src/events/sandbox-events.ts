import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { SandboxPosition } from './event-log.ts'
import { formatRecord, parseRecords } from './record-file.ts'

const FILE = 'events.jsonl'

/** Adds a record that is already durable in the agent's log to its sandbox's own file. */
export async function appendSandboxEvent(folder: string, record: AgentRecord): Promise<void> {
  await appendFile(join(folder, FILE), formatRecord(record), { mode: 0o600 })
}

/** Where a sandbox's own file says it stands; `null` for one without records. */
export async function readSandboxPosition(folder: string): Promise<SandboxPosition | null> {
  const content = await readFile(join(folder, FILE)).catch(() => Buffer.alloc(0))
  const last = parseRecords(content).records.at(-1)
  return last ? { seq: last.seq, number: last.number, type: last.event.type } : null
}
