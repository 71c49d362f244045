import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { SandboxId } from '@offshoot/contract/ids'
import type { EventLog } from './event-log.ts'

/**
 * Records that are in the agent's event log but not in the sandbox's own file, because the agent was killed between the two writes.
 * @param lastNumbers the number of each file's last record, 0 for an empty file
 */
export async function missingRecords(
  log: EventLog,
  lastNumbers: ReadonlyMap<SandboxId, number>,
): Promise<Map<SandboxId, AgentRecord[]>> {
  const missing = new Map<SandboxId, AgentRecord[]>()
  for (const [id, last] of lastNumbers) if ((log.position(id)?.number ?? 0) > last) missing.set(id, [])
  if (missing.size === 0) return missing
  for await (const records of log.kept(1)) {
    for (const record of records) {
      const id = record.event.sandbox_id as SandboxId
      if (record.number > (lastNumbers.get(id) ?? 0)) missing.get(id)?.push(record)
    }
  }
  return missing
}
