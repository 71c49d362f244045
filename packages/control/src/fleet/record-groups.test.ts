import { randomUUID } from 'node:crypto'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Harness } from '../test/harness.ts'
import type { AgentHooks } from './agent-hooks.ts'
import { batchOf } from './apply-records.ts'
import { RecordGroups } from './record-groups.ts'

describe('batches of several agents', () => {
  let harness: Harness
  let workspaceId: string
  /** The sandbox ids that each transaction applies. */
  let groups: string[][]
  let onApply: (ids: readonly string[]) => Promise<void>
  const hooks: readonly AgentHooks[] = [
    {
      applyRecords: async (_client, records) => {
        const ids = records.map(({ event }) => event.sandbox_id)
        groups.push(ids)
        await onApply(ids)
      },
    },
  ]

  beforeAll(async () => {
    harness = await Harness.start()
    const control = await harness.control([])
    ;({ workspaceId } = await harness.tenant(control, 'groups'))
    await control.stop()
  })
  afterAll(() => harness.stop())
  beforeEach(() => {
    groups = []
    onApply = async () => undefined
  })

  /** An agent with one sandbox that has paused. */
  async function agentWithRecord(owner?: string) {
    const [agentId, id] = [randomUUID(), randomUUID()]
    await harness.pool.query(`insert into agents (id, url, info) values ($1, $1, '{}')`, [agentId])
    await harness.pool.query(
      `insert into sandboxes (id, workspace_id, agent_id, creator, template, status, cpu, memory_mb, persistent,
         ttl_seconds, idle_timeout_seconds, expires_at)
       values ($1, $2, $3, 0, 'base', 'running', 1, 512, false, 1, 1, now())`,
      [id, workspaceId, owner ?? agentId],
    )
    const event = { ts: '', sandbox_id: id, agent_id: agentId, type: 'sandbox.paused', code: 'ok' } as const
    const record: AgentRecord = {
      seq: 7,
      number: 7,
      workspace_id: workspaceId,
      event: { ...event, message: '', metadata: {} },
    }
    return { ...batchOf(agentId, [record]), id, record, hasJoined: true }
  }

  const stateOf = async ({ agentId, id }: { agentId: string; id: string }) => {
    const { rows } = await harness.pool.query(
      `select a.cursor::int, s.status from agents a, sandboxes s where a.id = $1 and s.id = $2`,
      [agentId, id],
    )
    return rows[0]
  }

  it('that arrive during a transaction share the next one', async () => {
    const batches = await Promise.all(Array.from({ length: 9 }, async () => agentWithRecord()))
    const held = Promise.withResolvers<void>()
    onApply = () => held.promise
    const applier = new RecordGroups(harness.pool, hooks)
    const applied = batches.map(async (batch) => applier.apply(batch))
    held.resolve()
    expect(await Promise.all(applied)).toEqual(batches.map(({ record }) => [record]))
    expect(groups.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([1, 1, 7])
    for (const batch of batches) expect(await stateOf(batch)).toEqual({ cursor: 7, status: 'paused' })
  })

  it('fail alone if one of them cannot be applied', async () => {
    const batches = await Promise.all(Array.from({ length: 5 }, async () => agentWithRecord()))
    const [, , , faulty, good] = batches
    onApply = async (ids) => {
      if (faulty !== undefined && ids.includes(faulty.id)) throw new Error('cannot be stored')
    }
    const applier = new RecordGroups(harness.pool, hooks)
    const outcomes = await Promise.allSettled(batches.map(async (batch) => applier.apply(batch)))
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(faulty && (await stateOf(faulty))).toEqual({ cursor: 0, status: 'running' })
    expect(good && (await stateOf(good))).toEqual({ cursor: 7, status: 'paused' })
  })

  it('count for the sandboxes of their own agents only', async () => {
    const victim = await agentWithRecord()
    const forged = await agentWithRecord(victim.agentId)
    const applier = new RecordGroups(harness.pool, hooks)
    expect(await Promise.all([applier.apply(forged), applier.apply(victim)])).toEqual([[], [victim.record]])
    expect(await stateOf(forged)).toEqual({ cursor: 7, status: 'running' })
    expect(await stateOf(victim)).toEqual({ cursor: 7, status: 'paused' })
  })
})
