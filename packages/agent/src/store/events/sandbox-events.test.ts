import { randomUUID } from 'node:crypto'
import { appendFile, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { AgentId, SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EventLog } from './event-log.ts'
import { missingRecords } from './missing-records.ts'
import { formatRecord } from './record-file.ts'
import { SandboxEventFile } from './sandbox-event-file.ts'
import { SandboxEvents, type Delivery } from './sandbox-events.ts'

const agentId = randomUUID() as AgentId
const sandboxId = randomUUID() as SandboxId
const workspaceId = '11111111-1111-4111-8111-111111111111' as WorkspaceId

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandbox-events-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const open = () => new SandboxEvents(folder, pino({ level: 'silent' }))

function record(number: number, text = ''): AgentRecord {
  const ts = new Date(1_700_000_000_000 + number).toISOString()
  const event = { ts, sandbox_id: sandboxId, agent_id: agentId, type: 'sandbox.running', code: 'ok' } as const
  return {
    seq: number,
    number,
    workspace_id: workspaceId,
    event: { ...event, message: `event ${number}${text}`, metadata: {} },
  }
}

function add(events: SandboxEvents, from: number, to: number, text?: string): void {
  for (let number = from; number <= to; number++) events.add(record(number, text))
}

const range = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_unused, at) => from + at)

/** Follows like a reconnecting client: disconnects every `patience` records and resumes after the last number. */
async function reconnecting(events: SandboxEvents, after: number, patience: number, pause: () => Promise<void>) {
  const seen: number[] = []
  for (let cursor = after; ;) {
    const stop = new AbortController()
    let taken = 0
    let hasEnded = true
    for await (const delivery of events.follow(cursor, stop.signal)) {
      if ('dropped' in delivery) throw new Error(`${delivery.dropped} dropped after ${cursor}`)
      seen.push(...delivery.map(({ number }) => number))
      cursor = seen.at(-1) ?? cursor
      taken += delivery.length
      await pause()
      if (taken < patience) continue
      hasEnded = false
      stop.abort()
    }
    if (hasEnded) return seen
  }
}

describe('SandboxEvents', () => {
  it('gives a reconnecting reader each record exactly once, under constant writes, across restarts and rotations', async () => {
    const plan = fc.record({
      bursts: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 12 }),
      patience: fc.integer({ min: 1, max: 200 }),
      after: fc.nat(40),
      restartAt: fc.nat(12),
    })
    await fc.assert(
      fc.asyncProperty(plan, async ({ bursts, patience, after, restartAt }) => {
        await rm(folder, { recursive: true, force: true })
        folder = await mkdtemp(join(tmpdir(), 'sandbox-events-'))
        let events = open()
        let last = 0
        const readers: Promise<number[]>[] = []
        const seen: number[] = []
        for (const [index, burst] of bursts.entries()) {
          if (readers.length === 0)
            readers.push(reconnecting(events, seen.at(-1) ?? after, patience, () => Promise.resolve()))
          add(events, last + 1, (last += burst))
          await new Promise(setImmediate)
          if (index !== restartAt) continue
          await events.close()
          seen.push(...((await readers.pop()) ?? []))
          events = open()
          await events.load([])
          expect(events.last).toBe(last)
        }
        await events.close()
        seen.push(...((await readers.pop()) ?? []))
        expect(seen).toEqual(range(after + 1, last))
      }),
      { numRuns: 60 },
    )
  })

  it('reads records that are no longer in memory from disk, across a rotation, by number and by time', async () => {
    const events = open()
    const text = 'x'.repeat(400)
    for (let from = 1; from <= 3000; from += 100) {
      add(events, from, from + 99, text)
      await new Promise(setImmediate)
    }
    const numbers = async (after: number) => (await events.snapshot(after)).map(({ number }) => number)
    expect(await numbers(500)).toEqual(range(501, 3000))
    expect(await numbers(2990)).toEqual(range(2991, 3000))
    for (const number of [700, 2999, 3000]) {
      expect(await events.cursorOf({ kind: 'time', ms: 1_700_000_000_000 + number })).toBe(number)
    }
    expect(await events.cursorOf({ kind: 'time', ms: Date.now() })).toBe(3000)
    expect(await numbers(await events.cursorOf({ kind: 'time', ms: 0 }))).toEqual(range(1, 3000))
    await events.close()
    const again = open()
    await again.load([])
    expect([again.firstInMemory, again.last]).toEqual([3000 - 511, 3000])
    expect((await again.snapshot(1000)).map(({ number }) => number)).toEqual(range(1001, 3000))
    await again.close()
  })

  it('reports dropped records to a reader that fell behind, and to no other', async () => {
    const events = open()
    const stop = new AbortController()
    const slow = events.follow(0, stop.signal)[Symbol.asyncIterator]()
    const fast = reconnecting(events, 0, 100_000, () => Promise.resolve())
    const first = slow.next()
    add(events, 1, 10)
    const read: (Delivery | undefined)[] = [(await first).value]
    const waiting = slow.next()
    add(events, 11, 11)
    read.push((await waiting).value)
    for (let from = 12; from <= 2000; from += 100) {
      add(events, from, Math.min(2000, from + 99))
      await new Promise(setImmediate)
    }
    await events.close()
    for (let next = await slow.next(); !next.done; next = await slow.next()) read.push(next.value)
    const dropped = read.filter((delivery) => delivery !== undefined && 'dropped' in delivery)
    expect(dropped).toEqual([{ dropped: 2000 - 512 - 11 }])
    const numbers = read.flatMap((delivery) =>
      delivery === undefined || 'dropped' in delivery ? [] : delivery.map(({ number }) => number),
    )
    expect(numbers).toEqual([...range(1, 11), ...range(2000 - 511, 2000)])
    expect(await fast).toEqual(range(1, 2000))
  })

  it('serves a thousand followers', { tags: ['long'] }, async () => {
    const events = open()
    const readers = range(1, 1000).map(() => reconnecting(events, 0, 100_000, () => Promise.resolve()))
    for (let from = 1; from <= 400; from += 20) {
      add(events, from, from + 19)
      await new Promise(setImmediate)
    }
    await events.close()
    for (const seen of await Promise.all(readers)) expect(seen).toEqual(range(1, 400))
  })

  it(
    'gets records that a killed agent had not written from the agent log, wherever the file is torn',
    { tags: ['faults'] },
    async () => {
      const logFolder = join(folder, 'log')
      await rm(logFolder, { recursive: true, force: true })
      await mkdir(logFolder)
      const log = await EventLog.open(logFolder, agentId)
      const events = open()
      const draft = { type: 'sandbox.paused', sandboxId, workspaceId, message: 'ä', metadata: {} } as const
      for (let at = 0; at < 5; at++) events.add(await log.append(draft))
      await events.close()
      const path = join(folder, 'events.jsonl')
      const whole = await readFile(path)
      for (let cut = 0; cut <= whole.length; cut += 11) {
        await writeFile(path, whole.subarray(0, cut))
        const again = open()
        await again.load((await missingRecords(log, new Map([[sandboxId, 0]]))).get(sandboxId) ?? [])
        expect((await again.snapshot(0)).map(({ number }) => number)).toEqual(range(1, 5))
        await again.close()
        const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
        expect(lines.map((line) => (JSON.parse(line) as AgentRecord).number)).toEqual(range(1, 5))
      }
      await log.close()
    },
  )

  it('gives each event of a sandbox a distinct timestamp', async () => {
    const logFolder = await mkdtemp(join(tmpdir(), 'event-log-'))
    const log = await EventLog.open(logFolder, agentId)
    const draft = { type: 'sandbox.paused', sandboxId, workspaceId, message: '', metadata: {} } as const
    const records = await Promise.all(range(1, 300).map(() => log.append(draft)))
    const stamps = records.map(({ event }) => event.ts)
    expect(new Set(stamps).size).toBe(300)
    expect(stamps.toSorted()).toEqual(stamps)
    await log.close()
    await rm(logFolder, { recursive: true, force: true })
  })
})

/** The events of an agent that has read only the last one from disk. */
async function resumed(): Promise<SandboxEvents> {
  const last = new SandboxEventFile(folder).readLast()
  if (last === null) throw new Error('no last event')
  const events = open()
  events.resume(last)
  return events
}

describe('events of a sandbox that hibernates when its agent starts', () => {
  it('are read on demand, and continue with the next number', async () => {
    const before = open()
    add(before, 1, 40)
    await before.close()
    const events = await resumed()
    expect(events.last).toBe(40)
    expect((await events.snapshot(0)).map(({ number }) => number)).toEqual(range(1, 40))
    add(events, 41, 42)
    expect((await events.snapshot(38)).map(({ number }) => number)).toEqual([39, 40, 41, 42])
    await events.recall()
    expect([events.firstInMemory, events.last, events.has('sandbox.running')]).toEqual([1, 42, true])
    await events.close()
    expect((await new SandboxEventFile(folder).load()).map(({ number }) => number)).toEqual(range(1, 42))
  })

  it.each([
    ['is torn at its end', async (path: string) => appendFile(path, '{"seq":')],
    ['is empty', async (path: string) => truncate(path)],
    ['ends with a line that is no record', async (path: string) => appendFile(path, '{}\n')],
    [
      'ends with a record of many bytes',
      async (path: string) => appendFile(path, formatRecord(record(2, 'x'.repeat(9000)))),
    ],
  ])('are read completely if the file %s', async (_what, spoil) => {
    const before = open()
    add(before, 1, 1)
    await before.close()
    await spoil(join(folder, 'events.jsonl'))
    expect(new SandboxEventFile(folder).readLast()).toBeNull()
  })
})
