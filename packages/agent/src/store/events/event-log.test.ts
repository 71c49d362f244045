import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { AgentId, SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EventLog, type EventDraft } from './event-log.ts'

const agentId = randomUUID() as AgentId
const first = randomUUID() as SandboxId
const second = randomUUID() as SandboxId

function draft(sandboxId: SandboxId, message = 'happened'): EventDraft {
  const workspaceId = '11111111-1111-4111-8111-111111111111' as WorkspaceId
  return { type: 'sandbox.running', sandboxId, workspaceId, message, metadata: { boot_ms: 1 } }
}

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'event-log-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function collect(log: EventLog, after: number, count: number): Promise<AgentRecord[]> {
  const stop = new AbortController()
  const records: AgentRecord[] = []
  for await (const batch of log.follow(after, stop.signal)) {
    records.push(...batch)
    if (records.length >= count) stop.abort()
  }
  return records
}

describe('EventLog', () => {
  it('numbers records across all sandboxes and within each one, across restarts', async () => {
    const log = await EventLog.open(folder, agentId)
    const records = await Promise.all([first, second, first].map((id) => log.append(draft(id))))
    expect(records.map(({ seq, number }) => [seq, number])).toEqual([
      [1, 1],
      [2, 1],
      [3, 2],
    ])
    await log.close()
    const again = await EventLog.open(folder, agentId)
    expect(again.lastSeq).toBe(3)
    expect(again.position(first)).toMatchObject({ seq: 3, number: 2, type: 'sandbox.running' })
    expect(await again.append(draft(second))).toMatchObject({ seq: 4, number: 2 })
    await again.close()
  })

  it('resolves an append only after the record is on disk', async () => {
    const log = await EventLog.open(folder, agentId)
    const record = await log.append(draft(first))
    const [name = ''] = await readdir(folder)
    expect(JSON.parse(await readFile(join(folder, name), 'utf8'))).toEqual(record)
    await log.close()
  })

  it('resolves an append before it wakes followers', async () => {
    const log = await EventLog.open(folder, agentId)
    const heard: string[] = []
    const following = collect(log, 0, 1).then(() => heard.push('follower'))
    await log.append(draft(first))
    // As many promise steps as an HTTP answer takes.
    for (let step = 0; step < 100; step++) await Promise.resolve()
    heard.push('writer')
    await following
    expect(heard).toEqual(['writer', 'follower'])
    await log.close()
  })

  it('truncates a tail that is torn at any byte, and continues from there', { tags: ['faults'] }, async () => {
    const log = await EventLog.open(folder, agentId)
    await log.append(draft(first, 'ein Wort, zwei Wörter'))
    await log.append(draft(second))
    await log.close()
    const [name = ''] = await readdir(folder)
    const path = join(folder, name)
    const whole = await readFile(path)
    const firstBytes = whole.indexOf(0x0a) + 1
    for (let cut = 0; cut <= whole.length; cut++) {
      await writeFile(path, whole.subarray(0, cut))
      const repaired = await EventLog.open(folder, agentId)
      const kept = cut === whole.length ? 2 : cut >= firstBytes ? 1 : 0
      expect(repaired.lastSeq).toBe(kept)
      expect((await repaired.append(draft(first))).seq).toBe(kept + 1)
      await repaired.close()
      const seqs = (await readFile(path, 'utf8'))
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as AgentRecord).seq)
      expect(seqs).toEqual(Array.from({ length: kept + 1 }, (_unused, index) => index + 1))
    }
  })

  it('truncates zeros that a power cut left at the end', async () => {
    const log = await EventLog.open(folder, agentId)
    await log.append(draft(first))
    await log.close()
    const [name = ''] = await readdir(folder)
    await writeFile(join(folder, name), Buffer.concat([await readFile(join(folder, name)), Buffer.alloc(4096)]))
    const repaired = await EventLog.open(folder, agentId)
    expect((await repaired.append(draft(first))).seq).toBe(2)
    await repaired.close()
  })

  it('gives a follower all records after its cursor, then live ones, without gap or repeat', async () => {
    const log = await EventLog.open(folder, agentId)
    for (let index = 0; index < 10; index++) await log.append(draft(first))
    const followers = [0, 3, 10, 12].map((after) => collect(log, after, 30 - after))
    await Promise.all(Array.from({ length: 20 }, () => log.append(draft(second))))
    for (const [index, after] of [0, 3, 10, 12].entries()) {
      const seqs = (await followers[index])?.map(({ seq }) => seq)
      expect(seqs).toEqual(Array.from({ length: 30 - after }, (_unused, at) => after + 1 + at))
    }
    await log.close()
  })

  it('serves a slow follower from disk over several segments', async () => {
    const log = await EventLog.open(folder, agentId)
    const long = 'x'.repeat(8000)
    const total = 4000
    for (let at = 0; at < total; at += 200) {
      await Promise.all(Array.from({ length: 200 }, () => log.append(draft(first, long))))
    }
    expect((await readdir(folder)).length).toBeGreaterThan(1)
    const records = await collect(log, 0, total)
    const kept = records.map(({ seq }) => seq)
    const from = kept[0] ?? 0
    expect(kept.at(-1)).toBe(total)
    expect(kept).toEqual(Array.from({ length: kept.length }, (_unused, at) => from + at))
    await log.close()
    const again = await EventLog.open(folder, agentId)
    expect(again.lastSeq).toBe(total)
    await again.close()
  })

  it('ends an idle follower when its signal aborts', async () => {
    const log = await EventLog.open(folder, agentId)
    const stop = new AbortController()
    const ended = (async () => {
      for await (const batch of log.follow(0, stop.signal)) expect(batch).toEqual([])
    })()
    stop.abort()
    await ended
    await log.close()
  })
})
