import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { AgentId } from '@offshoot/contract/ids'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'

const agentFile = z.object({ agent_id: z.uuid() })

/** The id this agent chose at its first start, or the one its configuration gives it. */
export async function loadAgentId(path: string, configured: string | undefined): Promise<AgentId> {
  if (configured !== undefined) return configured as AgentId
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text !== null) return agentFile.parse(JSON.parse(text)).agent_id as AgentId
  const id = randomUUID()
  await writeFileDurably(path, `${JSON.stringify({ agent_id: id })}\n`)
  return id as AgentId
}
