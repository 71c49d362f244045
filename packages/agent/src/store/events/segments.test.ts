import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { EventType } from '@offshoot/contract/event'
import type { AgentId, SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EventLog } from './event-log.ts'
import type { SegmentsOptions } from './segments.ts'

const MIB = 1024 * 1024
/** Bytes of the newest complete segments and of the current one. */
const WHOLE_BYTES = 9 * 4 * MIB
const GROUP = 256
/** A message that makes records of about 4 KiB, so that few of them fill a segment. */
const LONG = 'x'.repeat(3800)
const agentId = randomUUID() as AgentId
const workspaceId = randomUUID() as WorkspaceId
const newId = () => randomUUID() as SandboxId
/** The guests that flood the log. */
const GUESTS = Array.from({ length: 20 }, newId)

let folder: string
let log: EventLog
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'segments-'))
  log = await EventLog.open(folder, agentId)
})
afterEach(async () => {
  await log.close()
  await rm(folder, { recursive: true, force: true })
})

async function reopen(options?: SegmentsOptions): Promise<void> {
  await log.close()
  log = await EventLog.open(folder, agentId, options)
}

const append = async (sandboxId: SandboxId, type: EventType, message: string = type) =>
  log.append({ type, sandboxId, workspaceId, message, metadata: {} })

/** Appends `count` records of about 4 KiB, like guests that open and close ports all the time. */
async function flood(count: number, type: EventType = 'sandbox.port_opened'): Promise<void> {
  for (let at = 0; at < count; at += GROUP) {
    await Promise.all(
      Array.from({ length: GROUP }, async (_, i) => append(GUESTS[i % GUESTS.length] ?? newId(), type, LONG)),
    )
  }
}

async function follow(after: number): Promise<AgentRecord[]> {
  const stop = new AbortController()
  const found: AgentRecord[] = []
  for await (const records of log.follow(after, stop.signal)) {
    found.push(...records)
    if (found.at(-1)?.seq === log.lastSeq) stop.abort()
  }
  return found
}

const of = (records: readonly AgentRecord[], id: SandboxId) =>
  records.filter(({ event }) => event.sandbox_id === id).map(({ event }) => event.type)

async function bytesOnDisk(): Promise<number> {
  const names = await readdir(folder)
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** 48 MiB: more than the segments that are never compacted. */
const FLOOD = 12_288

describe('records that control has not acknowledged', () => {
  it('are kept if they are state records, however many ports other guests open', { tags: ['faults'] }, async () => {
    const victim = newId()
    const types: EventType[] = ['sandbox.running', 'sandbox.paused', 'sandbox.resumed', 'sandbox.hibernated']
    for (const type of types) {
      await append(victim, type)
      await flood(FLOOD / types.length)
    }
    await flood(FLOOD)
    expect(of(await follow(0), victim)).toEqual(types)
    expect(await bytesOnDisk()).toBeLessThan(WHOLE_BYTES + MIB)
    await reopen()
    expect(of(await follow(0), victim)).toEqual(types)
    expect(log.lastSeq).toBe(2 * FLOOD + types.length)
  })

  it('reach a follower in order and once while segments are compacted', { tags: ['faults'] }, async () => {
    const victim = newId()
    const types: EventType[] = []
    const stop = new AbortController()
    const seen: AgentRecord[] = []
    const following = (async () => {
      for await (const records of log.follow(0, stop.signal)) {
        seen.push(...records)
        // The follower is slower than the flood, and so reads from disk.
        await new Promise(setImmediate)
        if (seen.at(-1)?.event.type === 'sandbox.deleted') stop.abort()
      }
    })()
    for (let round = 0; round < 16; round++) {
      types.push(round % 2 === 0 ? 'sandbox.paused' : 'sandbox.resumed')
      await append(victim, types.at(-1) ?? 'sandbox.paused')
      await flood(FLOOD / 8)
    }
    await append(victim, 'sandbox.deleted')
    await following
    expect(of(seen, victim)).toEqual([...types, 'sandbox.deleted'])
    const seqs = seen.map(({ seq }) => seq)
    expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b))
  })

  it('have a limit even if they are state records, and their loss is reported', async () => {
    const lost: number[] = []
    await reopen({ maxUnreadBytes: 8 * MIB, onLost: (seq) => lost.push(seq) })
    await flood(FLOOD, 'sandbox.paused')
    expect(await bytesOnDisk()).toBeLessThan(WHOLE_BYTES + 8 * MIB)
    expect((await follow(0))[0]?.seq).toBe((lost.at(-1) ?? 0) + 1)
  })
})

it('deletes records that control has acknowledged, including state records', async () => {
  const victim = newId()
  await append(victim, 'sandbox.running')
  await flood(FLOOD / 2, 'sandbox.paused')
  log.acknowledge(log.lastSeq)
  await flood(FLOOD, 'sandbox.paused')
  expect(of(await follow(0), victim)).toEqual([])
  const kept = await follow(0)
  // All records after the acknowledged one are still there.
  expect(kept.map(({ seq }) => seq).slice(-FLOOD)).toEqual(
    Array.from({ length: FLOOD }, (_, at) => log.lastSeq - FLOOD + 1 + at),
  )
})

it(
  'continues a sandbox’s numbers after its last record, even if that was a port event',
  { tags: ['faults'] },
  async () => {
    const victim = newId()
    await append(victim, 'sandbox.running')
    const port = await append(victim, 'sandbox.port_opened')
    await flood(FLOOD)
    await reopen()
    const { seq, number, event } = port
    // From the sandbox's own file, which still has the record that the agent-wide log has dropped.
    log.restorePosition(victim, { seq, number, type: event.type, ts: event.ts })
    expect((await append(victim, 'sandbox.paused')).number).toBe(3)
  },
)

it('has each record once after an agent was killed while it merged two segments', { tags: ['faults'] }, async () => {
  const victim = newId()
  await append(victim, 'sandbox.running')
  await flood(FLOOD / 2)
  const before = await readdir(folder)
  const saved = new Map(
    await Promise.all(before.map(async (name) => [name, await readFile(join(folder, name))] as const)),
  )
  await append(victim, 'sandbox.paused')
  await flood(FLOOD)
  const states = of(await follow(0), victim)
  const after = await readdir(folder)
  await log.close()
  // Undo the second step of the merge: restore the segment that it deleted.
  const removed = before.toSorted().find((name) => !after.includes(name)) ?? ''
  const first = after.toSorted()[0] ?? ''
  const seqOfRemoved = Number(removed.slice(0, 16))
  await writeFile(join(folder, removed), saved.get(removed) ?? '')
  const merged = (await readFile(join(folder, first), 'utf8')).trimEnd().split('\n')
  const reaches = (JSON.parse(merged.at(-1) ?? '{}') as AgentRecord).seq >= seqOfRemoved
  expect(reaches).toBe(true)
  log = await EventLog.open(folder, agentId)
  expect(of(await follow(0), victim)).toEqual(states)
  expect(await readdir(folder)).not.toContain(removed)
})

it('accepts records even if the compaction that they trigger fails', async () => {
  const failures: unknown[] = []
  await reopen({ onTrimFailed: (error) => failures.push(error) })
  const [oldest = ''] = await readdir(folder)
  await append(newId(), 'sandbox.running')
  await flood(FLOOD / 2)
  await rm(join(folder, oldest))
  await flood(FLOOD / 2)
  expect(failures.length).toBeGreaterThan(0)
  expect(log.lastSeq).toBe(FLOOD + 1)
})

describe('a damaged record', () => {
  it('is truncated with all records after it, a copy is kept, and their numbers are not used again', async () => {
    const id = newId()
    for (let at = 0; at < 4; at++) await append(id, 'sandbox.paused')
    await log.close()
    const [name = ''] = await readdir(folder)
    const content = await readFile(join(folder, name), 'utf8')
    const lines = content.split('\n')
    const damaged = [lines[0], lines[1]?.replaceAll('"', '\u0000'), ...lines.slice(2)].join('\n')
    await writeFile(join(folder, name), damaged)
    const copies: string[] = []
    log = await EventLog.open(folder, agentId, { onDamaged: (copy) => copies.push(copy) })
    expect(copies).toEqual([join(folder, `${name}.damaged`)])
    expect(await readFile(copies[0] ?? '', 'utf8')).toBe(damaged)
    const { seq } = await append(id, 'sandbox.resumed')
    expect(seq).toBeGreaterThan(4)
    expect((await follow(0)).map((record) => record.seq)).toEqual([1, seq])
    await reopen({ onDamaged: () => expect.unreachable() })
    expect((await follow(0)).map((record) => record.seq)).toEqual([1, seq])
    expect(await follow(3)).toMatchObject([{ seq }])
  })

  it('leaves no copy if it is only the torn end of a write', async () => {
    await append(newId(), 'sandbox.paused')
    await log.close()
    const [name = ''] = await readdir(folder)
    await writeFile(join(folder, name), (await readFile(join(folder, name), 'utf8')) + '{"seq":2,"num')
    log = await EventLog.open(folder, agentId, { onDamaged: () => expect.unreachable() })
    expect(log.lastSeq).toBe(1)
    expect(await readdir(folder)).toEqual([name])
  })
})

/** The kernel answers EIO when the link is read: nothing is mapped at the address 0. */
async function loseContent(name: string): Promise<void> {
  await rm(join(folder, name))
  await symlink('/proc/self/mem', join(folder, name))
}

describe('a segment that cannot be read', () => {
  it('is kept and reported, and all others are read', { timeout: 60_000 }, async () => {
    const id = newId()
    await append(id, 'sandbox.running')
    await flood(FLOOD / 4)
    await append(id, 'sandbox.paused')
    const lastSeq = log.lastSeq
    await log.close()
    const names = (await readdir(folder)).toSorted()
    expect(names.length).toBeGreaterThan(2)
    await loseContent(names[1] ?? '')
    const kept: string[] = []
    const options = { onDamaged: (path: string) => kept.push(path) }
    log = await EventLog.open(folder, agentId, options)
    expect(kept).toEqual([join(folder, `${names[1]}.damaged`)])
    expect(log.lastSeq).toBe(lastSeq)
    expect(of(await follow(0), id)).toEqual(['sandbox.running', 'sandbox.paused'])
    await append(id, 'sandbox.resumed')
    expect(of(await follow(lastSeq), id)).toEqual(['sandbox.resumed'])
    await reopen(options)
    expect(kept).toHaveLength(1)
    expect(await readdir(folder)).toContain(`${names[1]}.damaged`)
  })

  it('does not lead to numbers that it has used, if it is the newest', async () => {
    const id = newId()
    for (let at = 0; at < 4; at++) await append(id, 'sandbox.paused')
    await log.close()
    const [name = ''] = await readdir(folder)
    await loseContent(name)
    const kept: string[] = []
    log = await EventLog.open(folder, agentId, { onDamaged: (path) => kept.push(path) })
    expect(kept).toEqual([join(folder, `${name}.damaged`)])
    // Control continues after the records that it has stored.
    expect(log.lastSeq).toBeGreaterThanOrEqual(4)
    const { seq } = await append(id, 'sandbox.resumed')
    expect(await follow(2)).toMatchObject([{ seq, event: { type: 'sandbox.resumed' } }])
    await reopen({ onDamaged: () => expect.unreachable() })
    expect(await follow(0)).toMatchObject([{ seq }])
  })

  it('is left out for followers of the log meanwhile', { timeout: 60_000 }, async () => {
    await flood(FLOOD / 4)
    const names = (await readdir(folder)).toSorted()
    await reopen({ onDamaged: (path) => lost.push(path) })
    const lost: string[] = []
    await loseContent(names[0] ?? '')
    const records = await follow(0)
    expect(lost).toEqual([join(folder, names[0] ?? '')])
    expect(records[0]?.seq).toBe(Number((names[1] ?? '').slice(0, 16)))
    expect(records.at(-1)?.seq).toBe(log.lastSeq)
  })
})
