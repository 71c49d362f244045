import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fakeSandbox } from '../test/fake-agent-state.ts'
import { eventually, Harness, type Tenant } from '../test/harness.ts'
import { applyAnswer } from './apply-answer.ts'

describe('the row of a sandbox whose agent has answered', () => {
  let harness: Harness
  let tenant: Tenant

  beforeAll(async () => {
    harness = await Harness.start()
    tenant = await harness.tenant(await harness.control([]), 'alice')
    await harness.pool.query(`insert into agents (id, url, info) values ('a', 'http://127.0.0.1:9', '{}')`)
  })

  afterAll(() => harness.stop())

  it('changes without a notification, because the follower of the log tells readers of the record', async () => {
    const [id, { workspaceId }] = [randomUUID(), tenant]
    await harness.pool.query(
      `insert into sandboxes (id, workspace_id, agent_id, creator, template, status, cpu, memory_mb, persistent,
         ttl_seconds, idle_timeout_seconds) values ($1, $2, 'a', 0, 'base', 'running', 1, 512, true, 1, 1)`,
      [id, workspaceId],
    )
    const told: (string | undefined)[] = []
    const listener = await harness.pool.connect()
    onTestFinished(() => listener.release(true))
    listener.on('notification', ({ payload }) => told.push(payload))
    await listener.query('listen changes')
    const answer = { ...fakeSandbox(id, workspaceId, 'base', {}), status: 'paused', last_seq: 7 } as const
    const row = await applyAnswer(harness.pool, { id, agent_id: 'a' }, answer)
    await harness.pool.query(`notify changes, 'mark'`)
    await eventually(() => told.includes('mark'))
    expect(row).toMatchObject({ id, status: 'paused' })
    expect(told.filter((payload) => payload?.includes(id))).toEqual([])
  })
})
