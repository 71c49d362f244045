import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentId, SandboxId } from '@offshoot/contract/ids'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { EventLog } from './event-log.ts'
import { loadAgentId } from './agent-id.ts'
import { DataDir } from '../data-dir/data-dir.ts'

let root: string
let dir: DataDir
const log = { error: () => undefined }
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'offshoot-agent-id-'))
  dir = await DataDir.open(root)
})
afterEach(() => rm(root, { recursive: true, force: true }))

const DAMAGES: readonly (readonly [string, () => Promise<void>])[] = [
  ['gone', () => rm(dir.agentFile)],
  ['empty', () => writeFile(dir.agentFile, '')],
]

it('is chosen at the first start and kept', async () => {
  const id = await loadAgentId(dir, undefined, log)
  expect(await loadAgentId(dir, undefined, log)).toBe(id)
  expect(await loadAgentId(dir, 'configured', log)).toBe('configured')
})

it.each(DAMAGES)('is taken from the event log if its file is %s', async (_what, damage) => {
  const id = await loadAgentId(dir, undefined, log)
  const events = await EventLog.open(dir.events, id)
  const draft = { type: 'sandbox.paused', sandboxId: randomUUID() as SandboxId, workspaceId: null } as const
  await events.append({ ...draft, message: 'paused', metadata: {} })
  await events.close()
  await damage()
  expect(await loadAgentId(dir, undefined, log)).toBe(id)
  expect(JSON.parse(await readFile(dir.agentFile, 'utf8'))).toEqual({ agent_id: id })
})

it.each(DAMAGES)('is not replaced by a new one if there is data and its file is %s', async (_what, damage) => {
  const id: AgentId = await loadAgentId(dir, undefined, log)
  await mkdir(join(dir.volumes, randomUUID()))
  await damage()
  await expect(loadAgentId(dir, undefined, log)).rejects.toThrow('put the id of the agent back')
  await writeFile(dir.agentFile, JSON.stringify({ agent_id: id }))
  expect(await loadAgentId(dir, undefined, log)).toBe(id)
})
