import type { AgentRecord } from '@offshoot/contract/agent-api'
import { isUuid } from '@offshoot/contract/ids'
import type { Queryable } from '../../../platform/db/statement.ts'
import { applyTransitions, type Transition } from './apply-transitions.ts'
import { openMeters } from './meter-statements.ts'
import { meterStateAfter } from './meter-state.ts'

/**
 * Meters an agent's records. Must run before the records change the rows, because it reads rows that they delete. Call
 * it in the transaction that moves the cursor.
 */
export async function meterRecords(on: Queryable, records: readonly AgentRecord[]): Promise<void> {
  const metered = records.filter(({ event }) => meterStateAfter(event.type) !== null && isMeterable(event))
  if (metered.length === 0) return
  await openMeters(on, JSON.stringify(metered.map(sizeOf)))
  await applyTransitions(on, metered.flatMap(transitionOf))
}

function isMeterable({ sandbox_id: id, ts }: AgentRecord['event']): boolean {
  return isUuid(id) && !Number.isNaN(Date.parse(ts))
}

function sizeOf({ workspace_id, event: { sandbox_id, metadata } }: AgentRecord) {
  const { template, cpu, memory_mb } = metadata
  return {
    id: sandbox_id,
    workspace_id,
    template: typeof template === 'string' ? template : null,
    cpu: count(cpu),
    memory_mib: count(memory_mb),
  }
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 1e6 ? value : null
}

function transitionOf({ event: { sandbox_id: id, ts, type } }: AgentRecord): Transition[] {
  const state = meterStateAfter(type)
  return state === null ? [] : [{ id, at: new Date(ts).toISOString(), state }]
}
