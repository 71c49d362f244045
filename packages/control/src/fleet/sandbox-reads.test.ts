import { randomUUID } from 'node:crypto'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { SandboxReads } from './sandbox-reads.ts'
import type { SandboxRow } from './sandbox-row.ts'

/** A database whose answers the test triggers. */
function slowDatabase() {
  const asked: { ids: string[]; answer: (rows: Partial<SandboxRow>[]) => void; fail: (error: Error) => void }[] = []
  const pool = {
    query: ({ values: [ids] }: { values: [string[]] }) =>
      new Promise((resolve, reject) => {
        asked.push({ ids, answer: (rows) => resolve({ rows }), fail: reject })
      }),
  }
  return { reads: new SandboxReads(pool as unknown as pg.Pool), asked }
}

const id = () => randomUUID() as SandboxId
const mine = randomUUID() as WorkspaceId
const other = randomUUID() as WorkspaceId
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

describe('reads of sandboxes', () => {
  it('that come together are one question, and each gets its own answer', async () => {
    const { reads, asked } = slowDatabase()
    const [a, b, unknown] = [id(), id(), id()]
    const found = Promise.all([
      reads.find(a, mine),
      reads.find(b, mine),
      reads.find(a, mine),
      reads.find(a, other),
      reads.find(b, other),
      reads.find(unknown, mine),
    ])
    await turn()
    expect(asked.map(({ ids }) => ids)).toEqual([[a, b, unknown]])
    const [rowA, rowB] = [
      { id: a, workspace_id: mine },
      { id: b, workspace_id: other },
    ]
    asked[0]?.answer([rowA, rowB])
    expect(await found).toEqual([rowA, null, rowA, null, rowB, null])
  })

  it('never get an answer to a question from before they came', async () => {
    const { reads, asked } = slowDatabase()
    const a = id()
    const before = reads.find(a, mine)
    await turn()
    const after = reads.find(a, mine)
    await turn()
    asked[0]?.answer([{ id: a, workspace_id: mine, status: 'running' }])
    expect((await before)?.status).toBe('running')
    asked[1]?.answer([{ id: a, workspace_id: mine, status: 'paused' }])
    expect((await after)?.status).toBe('paused')
  })

  it('wait for one of two questions under way, and go on when one fails', async () => {
    const { reads, asked } = slowDatabase()
    const ids = [id(), id(), id(), id()]
    const found = []
    for (const each of ids) {
      found.push(reads.find(each, mine).catch((error: Error) => error.message))
      await turn()
    }
    expect(asked.map((question) => question.ids)).toEqual([[ids[0]], [ids[1]]])
    asked[0]?.fail(new Error('no connection'))
    await turn()
    expect(asked[2]?.ids).toEqual([ids[2], ids[3]])
    asked[1]?.answer([])
    asked[2]?.answer([{ id: ids[3], workspace_id: mine } as Partial<SandboxRow>])
    expect(await Promise.all(found)).toEqual(['no connection', null, null, { id: ids[3], workspace_id: mine }])
  })

  it('ask for a bounded number of rows at once', async () => {
    const { reads, asked } = slowDatabase()
    const found = Promise.all(Array.from({ length: 300 }, () => reads.find(id(), mine)))
    await turn()
    await turn()
    expect(asked.map(({ ids }) => ids.length)).toEqual([256, 44])
    for (const { answer } of asked) answer([])
    expect(await found).toEqual(Array.from({ length: 300 }, () => null))
  })
})
