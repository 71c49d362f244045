import { randomUUID } from 'node:crypto'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { EventType } from '@offshoot/contract/event'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentHooks } from '../control.ts'
import { FakeAgentState } from '../test/fake-agent-state.ts'
import { Harness } from '../test/harness.ts'
import { applyRecords, batchOf } from './apply-records.ts'
import type { AgentHooks } from './agent-hooks.ts'

/** Events that change rows, and one that does not. */
const CHANGES: readonly EventType[] = [
  'sandbox.running',
  'sandbox.paused',
  'sandbox.deleted',
  'vm.died',
  'fork_tree.promoted',
  'sandbox.ssh_ready',
]

describe('records of a log', () => {
  let harness: Harness
  let hooks: readonly AgentHooks[]
  let workspaceId: string

  beforeAll(async () => {
    harness = await Harness.start()
    const control = await harness.control([])
    const tenant = await harness.tenant(control, 'batches')
    ;({ workspaceId } = tenant)
    hooks = agentHooks(control.control)
    await control.stop()
  })
  afterAll(() => harness.stop())

  const addSandboxes = (agentId: string, ids: readonly string[], seqs: readonly number[] = ids.map(() => 0)) =>
    harness.pool.query(
      `insert into sandboxes (id, workspace_id, agent_id, creator, template, status, cpu, memory_mb, persistent,
         ttl_seconds, idle_timeout_seconds, expires_at, parent_id, last_event_seq)
       select id, $1, $2, 0, 'base', 'creating', 1, 512, false, 1, 1, now(), $1, seq
       from unnest($3::uuid[], $4::bigint[]) as t (id, seq)`,
      [workspaceId, agentId, ids, seqs],
    )

  it('leave rows as a batch as they do one after the other', async () => {
    const record = fc.record({
      sandbox: fc.nat(2),
      type: fc.constantFrom<EventType[]>(...CHANGES),
      metadata: fc.record(
        {
          boot_ms: fc.constantFrom(7, 9, -1, 2 ** 40, 'x'),
          boot_mode: fc.constantFrom('cold', 'pool', 'none'),
          guest_ip: fc.constantFrom('10.0.0.1', 'a\0b', 5),
        },
        { requiredKeys: [] },
      ),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 10 }),
        fc.tuple(fc.nat(10), fc.nat(10), fc.nat(10)),
        async (entries, known) => {
          const outcome = async (batch: number) => {
            const state = new FakeAgentState()
            await harness.pool.query(`insert into agents (id, url, info) values ($1, 'x', '{}')`, [state.agentId])
            const ids = known.map(() => randomUUID())
            await addSandboxes(state.agentId, ids, known)
            const records = entries.map(({ sandbox, type, metadata }, n): AgentRecord => {
              const sandbox_id = ids[sandbox] ?? ''
              const event = {
                ts: '',
                sandbox_id,
                agent_id: state.agentId,
                type,
                code: 'ok',
                message: '',
                metadata,
              } as const
              return { seq: n + 1, number: n + 1, workspace_id: workspaceId, event }
            })
            for (let from = 0; from < records.length; from += batch)
              await applyRecords(harness.pool, hooks, [batchOf(state.agentId, records.slice(from, from + batch))])
            const { rows } = await harness.pool.query(
              `select array_position($2, id) as sandbox, status, boot_ms, boot_mode, guest_ip, last_event_seq::int,
                 parent_id is null as is_promoted from sandboxes where agent_id = $1 order by 1`,
              [state.agentId, ids],
            )
            return rows
          }
          expect(await outcome(entries.length)).toEqual(await outcome(1))
        },
      ),
      { numRuns: 40 },
    )
  })

  it('do not hold up new sandboxes of their host', async () => {
    const { agentId } = new FakeAgentState()
    await harness.pool.query(`insert into agents (id, url, info) values ($1, 'y', '{}')`, [agentId])
    const added = Promise.withResolvers<unknown>()
    const meanwhile: AgentHooks = {
      applyRecords: async () => {
        void addSandboxes(agentId, [randomUUID()]).then(added.resolve, added.reject)
        await added.promise
      },
    }
    await applyRecords(harness.pool, [meanwhile], [{ agentId, records: [], lastSeq: 1 }])
    expect(await added.promise).toMatchObject({ rowCount: 1 })
  })
})
