import { randomUUID } from 'node:crypto'
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentId } from '@offshoot/contract/ids'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { Logger } from 'pino'
import { z } from 'zod'
import { Segments } from './segments.ts'
import { readRecord } from '../ledger/read-record.ts'
import type { DataDir } from '../data-dir/data-dir.ts'

const agentFile = z.object({ agent_id: z.uuid() })

/**
 * The id that this agent chose at its first start, or the configured one. Control's rows belong to an agent id: under a new id
 * control would delete all sandboxes of this agent as orphans. So if the file is missing or unreadable, the agent takes the id
 * from its event log, and if that is empty but there is data, the agent does not start.
 * @throws Error if the id is unknown and the data directory is not new
 */
export async function loadAgentId(
  dir: Pick<DataDir, 'agentFile' | 'events' | 'sandboxes' | 'snapshots' | 'volumes' | 'templates'>,
  configured: string | undefined,
  log: Pick<Logger, 'error'>,
): Promise<AgentId> {
  if (configured !== undefined) return configured as AgentId
  const read = await readRecord(dir.agentFile, (content) => agentFile.parse(content))
  if (read.state === 'present') return read.record.agent_id as AgentId
  if (read.state === 'unreadable')
    log.error({ err: read.error, path: dir.agentFile }, 'the id of this agent cannot be read')
  const logged = await loggedId(dir.events)
  if (logged === null && (await hasObjects(dir)))
    throw new Error(`${dir.agentFile} is gone or cannot be read, and this agent has data: put the id of the agent back`)
  // Keep the unreadable file for diagnosis.
  if (read.state === 'unreadable') await rename(dir.agentFile, `${dir.agentFile}.damaged`)
  const id = logged ?? (randomUUID() as AgentId)
  await writeFileDurably(dir.agentFile, `${JSON.stringify({ agent_id: id })}\n`)
  return id
}

/** The agent id in the newest retained record. */
async function loggedId(folder: string): Promise<AgentId | null> {
  let id: string | null = null
  const segments = await Segments.open(folder, (records) => {
    id = records.at(-1)?.event.agent_id ?? id
  })
  await segments.close()
  return id
}

async function hasObjects(dir: Parameters<typeof loadAgentId>[0]): Promise<boolean> {
  for (const folder of [dir.sandboxes, dir.snapshots, dir.volumes, dir.templates])
    if ((await readdir(join(folder))).length > 0) return true
  return false
}
