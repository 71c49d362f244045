import { randomUUID } from 'node:crypto'
import { PRICE_MONTH_SECONDS, PRICES } from '@offshoot/contract/price'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transaction } from '../../../platform/db/transaction.ts'
import { Harness } from '../../../test/harness.ts'
import { applyTransitions, type Transition } from './apply-transitions.ts'
import { openMeters } from './meter-statements.ts'
import type { MeterState } from './meter-state.ts'

const STATES = ['running', 'paused', 'hibernated', 'ended'] as const
const START_MS = Date.parse('2026-10-30T21:00:00Z')
const SIZE = { cpu: 2, memory_mib: 1536 }
const RUNS = Number(process.env['OFFSHOOT_LEDGER_RUNS'] ?? 20)

interface Bill {
  readonly [day: string]: { readonly seconds: number; readonly cpuSeconds: number; readonly microUsd: number }
}

const PER_MONTH: Record<MeterState, number> = {
  running: Math.round(SIZE.cpu * PRICES.cpu + (SIZE.memory_mib * PRICES.memoryGib) / 1024),
  paused: Math.round((SIZE.memory_mib * PRICES.memoryGib) / 1024),
  hibernated: Math.round((SIZE.memory_mib * PRICES.hibernatedGib) / 1024),
  storage: 0,
  ended: 0,
}

/** An independent calculation of the bill of one sandbox's transitions. */
function billOf(transitions: readonly Transition[]): Bill {
  const bill: Record<string, { seconds: number; cpuSeconds: number; microUsd: number }> = {}
  const sorted = transitions.toSorted((a, b) => a.at.localeCompare(b.at))
  for (const [index, { at, state }] of sorted.entries()) {
    const next = sorted[index + 1]
    if (next === undefined || state === 'ended') continue
    const end = Math.floor(Date.parse(next.at) / 1000)
    for (let from = Math.floor(Date.parse(at) / 1000); from < end;) {
      const midnight = (Math.floor(from / 86_400) + 1) * 86_400
      const to = Math.min(end, midnight)
      const day = new Date(from * 1000).toISOString().slice(0, 10)
      const entry = (bill[day] ??= { seconds: 0, cpuSeconds: 0, microUsd: 0 })
      entry.seconds += to - from
      entry.cpuSeconds += state === 'running' ? (to - from) * SIZE.cpu : 0
      entry.microUsd += Math.round(((to - from) * PER_MONTH[state]) / PRICE_MONTH_SECONDS)
      from = to
    }
  }
  return bill
}

const at = (seconds: number) => new Date(START_MS + seconds * 1000).toISOString()

describe('ledger', () => {
  let harness: Harness

  beforeAll(async () => {
    harness = await Harness.start()
    const control = await harness.control([])
    await control.stop()
  })

  afterAll(() => harness.stop())

  async function open(workspaceId = randomUUID()): Promise<{ id: string; workspaceId: string }> {
    const id = randomUUID()
    const sandbox = { id, workspace_id: workspaceId, template: 'base', ...SIZE }
    await openMeters(harness.pool, JSON.stringify([sandbox]))
    return { id, workspaceId }
  }

  async function posted(meterId: string): Promise<Bill> {
    const { rows } = await harness.pool.query<{ day: string; seconds: string; cpu: string; usd: string }>(
      `select to_char(day, 'YYYY-MM-DD') as day, sum(seconds) as seconds, sum(cpu_seconds) as cpu, sum(micro_usd) as usd
       from ledger where meter_id = $1 group by day having sum(seconds) <> 0`,
      [meterId],
    )
    return Object.fromEntries(
      rows.map(({ day, seconds, cpu, usd }) => [
        day,
        { seconds: Number(seconds), cpuSeconds: Number(cpu), microUsd: Number(usd) },
      ]),
    )
  }

  const apply = (transitions: readonly Transition[]) =>
    transaction(harness.pool, (client) => applyTransitions(client, transitions))

  it('bills running, paused and hibernated by the second, each at its price, and not what comes after the end', async () => {
    const { id } = await open()
    await apply([
      { id, at: at(0), state: 'running' },
      { id, at: at(100), state: 'paused' },
      { id, at: at(300), state: 'hibernated' },
      { id, at: at(10_300), state: 'running' },
      { id, at: at(10_310), state: 'ended' },
    ])
    // 110 s at 2 vCPUs and 1.5 GiB, 200 s of 1.5 GiB, 10,000 s of 1.5 GiB on disk.
    const usd = 110 * (2 * 14 + 1.5 * 4.5) + 200 * 1.5 * 4.5 + (10_000 * 1.5 * 150_000) / PRICE_MONTH_SECONDS
    expect(await posted(id)).toEqual({
      '2026-10-30': { seconds: 10_310, cpuSeconds: 220, microUsd: expect.closeTo(usd, -1) },
    })
  })

  it('cuts days and months at midnight (UTC)', async () => {
    const { id, workspaceId } = await open()
    const transitions: Transition[] = [
      { id, at: '2026-10-31T23:59:50.900Z', state: 'running' },
      { id, at: '2026-11-02T00:00:05.100Z', state: 'ended' },
    ]
    await apply(transitions)
    const bill = await posted(id)
    expect(bill).toEqual(billOf(transitions))
    expect(Object.entries(bill).map(([day, { seconds }]) => [day, seconds])).toEqual([
      ['2026-10-31', 10],
      ['2026-11-01', 86_400],
      ['2026-11-02', 5],
    ])
    const { rows } = await harness.pool.query(
      `select to_char(month, 'YYYY-MM') as month, cpu_seconds::int from usage_months where workspace_id = $1 order by 1`,
      [workspaceId],
    )
    expect(rows).toEqual([
      { month: '2026-10', cpu_seconds: 20 },
      { month: '2026-11', cpu_seconds: 2 * 86_405 },
    ])
  })

  it('corrects what a late event shows to be wrong by an entry of its own', async () => {
    const { id } = await open()
    await apply([
      { id, at: at(0), state: 'running' },
      { id, at: at(1000), state: 'ended' },
    ])
    const before = await harness.pool.query('select * from ledger where meter_id = $1', [id])
    await apply([{ id, at: at(400), state: 'ended' }])
    const after = await harness.pool.query('select * from ledger where meter_id = $1 order by revision', [id])
    expect(after.rows[0]).toEqual(before.rows[0])
    expect(after.rows.map((row) => [row.revision, Number(row.seconds)])).toEqual([
      [0, 1000],
      [1, -600],
    ])
  })

  it(
    'gives the same bill for any order, repetition, cutting into batches and crash',
    { tags: ['faults'], timeout: 120_000 },
    async () => {
      const moment = fc.record({ ms: fc.integer({ min: 0, max: 3 * 86_400_000 }), state: fc.constantFrom(...STATES) })
      const history = fc.uniqueArray(moment, { minLength: 1, maxLength: 12, selector: ({ ms }) => ms })
      const scenario = fc.record({
        histories: fc.array(history, { minLength: 1, maxLength: 3 }),
        seed: fc.integer(),
        batch: fc.integer({ min: 1, max: 8 }),
        crashes: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
      })
      await fc.assert(
        fc.asyncProperty(scenario, async ({ histories, seed, batch, crashes }) => {
          const workspaceId = randomUUID()
          const meters = await Promise.all(histories.map(() => open(workspaceId)))
          const transitions = histories.flatMap((moments, index) =>
            moments.map(({ ms, state }): Transition => ({
              id: meters[index]?.id ?? '',
              at: new Date(START_MS + ms).toISOString(),
              state,
            })),
          )
          const delivered = shuffled([...transitions, ...transitions], seed)
          for (let from = 0, turn = 0; from < delivered.length; from += batch, turn += 1) {
            const piece = delivered.slice(from, from + batch)
            if (crashes[turn % crashes.length]) {
              const crash = new Error('killed before the commit')
              const attempt = transaction(harness.pool, async (client) => {
                await applyTransitions(client, piece)
                throw crash
              })
              await expect(attempt).rejects.toBe(crash)
            }
            await apply(piece)
          }
          let total = 0
          for (const { id } of meters) {
            const expected = billOf(transitions.filter((transition) => transition.id === id))
            expect(await posted(id)).toEqual(expected)
            total += Object.values(expected).reduce((sum, { microUsd }) => sum + microUsd, 0)
          }
          const { rows } = await harness.pool.query(
            'select coalesce(sum(micro_usd), 0)::int as total from usage_months where workspace_id = $1',
            [workspaceId],
          )
          expect(rows[0].total).toBe(total)
        }),
        { numRuns: RUNS },
      )
    },
  )

  it('lets two who post for the same sandbox at once wait for each other', async () => {
    const { id } = await open()
    const moments = Array.from({ length: 60 }, (_, index): Transition => ({
      id,
      at: at(index * 7),
      state: index % 2 === 0 ? 'running' : 'paused',
    }))
    await Promise.all(shuffled(moments, 7).map((moment) => apply([moment])))
    expect(await posted(id)).toEqual(billOf(moments))
  })
})

/** Shuffles in an order determined by the seed (a linear congruential generator). */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  let state = seed >>> 0
  const keyed = items.map((item) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return { item, key: state }
  })
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item)
}
