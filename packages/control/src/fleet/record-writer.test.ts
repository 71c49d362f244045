import { randomUUID } from 'node:crypto'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Harness } from '../test/harness.ts'
import type { AgentHooks } from './agent-hooks.ts'
import { RecordWriter } from './record-writer.ts'

const AGENTS = 5

const record = (agentId: string, seq: number): AgentRecord => ({
  seq,
  number: seq,
  workspace_id: null,
  event: {
    ts: new Date().toISOString(),
    sandbox_id: randomUUID(),
    agent_id: agentId,
    type: 'sandbox.paused',
    code: 'ok',
    message: '',
    metadata: {},
  },
})

/** Notes the agents of each transaction. */
const noting = (transactions: string[][], fail: (agentId: string) => boolean = () => false): AgentHooks => ({
  applyRecords: async (_client, records) => {
    const agents = records.map(({ event }) => event.agent_id)
    transactions.push(agents)
    if (agents.some(fail)) throw new Error('unreadable')
  },
})

describe('records of several agents', () => {
  let harness: Harness

  beforeAll(async () => {
    harness = await Harness.start()
  })
  afterAll(() => harness.stop())

  const makeAgents = async () => {
    const ids = Array.from({ length: AGENTS }, () => randomUUID())
    await harness.pool.query(`insert into agents (id, url, info) select id, id, '{}' from unnest($1::text[]) id`, [ids])
    return ids
  }
  const cursorsOf = async (ids: readonly string[]) => {
    const { rows } = await harness.pool.query<{ cursor: number }>(
      'select cursor::int from agents where id = any($1) order by array_position($1, id)',
      [ids],
    )
    return rows.map(({ cursor }) => cursor)
  }
  it('that arrive together are applied in one transaction', async () => {
    const [ids, transactions] = [await makeAgents(), [] as string[][]]
    const writer = new RecordWriter(harness.pool, [noting(transactions)])
    const logs = ids.map((agentId) => ({ agentId, hasJoined: false, records: [record(agentId, 1)], lastSeq: 1 }))
    const counting = await Promise.all(logs.map((log) => writer.apply(log)))
    expect(counting).toEqual(logs.map(({ records }) => records))
    expect(transactions).toEqual([ids])
    expect(await cursorsOf(ids)).toEqual([1, 1, 1, 1, 1])
  })

  it('are applied once, also if two followers of one agent read them', async () => {
    const [[agentId = ''], transactions] = [await makeAgents(), [] as string[][]]
    const writer = new RecordWriter(harness.pool, [noting(transactions)])
    const log = { agentId, hasJoined: false, records: [record(agentId, 1)], lastSeq: 1 }
    await Promise.all([writer.apply(log), writer.apply(log)])
    expect(transactions).toEqual([[agentId]])
  })

  it('do not wait for an agent whose records cannot be applied', async () => {
    const [ids, transactions] = [await makeAgents(), [] as string[][]]
    const writer = new RecordWriter(harness.pool, [noting(transactions, (agentId) => agentId === ids[2])])
    const results = await Promise.allSettled(
      ids.map((agentId) => writer.apply({ agentId, hasJoined: false, records: [record(agentId, 1)], lastSeq: 1 })),
    )
    expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, true])
    expect(await cursorsOf(ids)).toEqual([1, 1, 0, 1, 1])
  })
})
