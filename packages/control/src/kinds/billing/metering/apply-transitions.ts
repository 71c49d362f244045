import type { Queryable } from '../../../platform/db/statement.ts'
import { addTransitions, lockMeters, postCharges } from './meter-statements.ts'
import type { MeterState } from './meter-state.ts'

/** A meter's change to a state. */
export interface Transition {
  /** The meter's id. */
  readonly id: string
  /** RFC 3339, milliseconds. */
  readonly at: string
  readonly state: MeterState
}

/**
 * Stores transitions, each once, and posts the intervals that they close. Call it inside a transaction. The order of
 * transitions does not matter.
 */
export async function applyTransitions(on: Queryable, transitions: readonly Transition[]): Promise<void> {
  if (transitions.length === 0) return
  await lockMeters(on, [...new Set(transitions.map(({ id }) => id))])
  const added = await addTransitions(on, JSON.stringify(transitions))
  if (added.length === 0) return
  await postCharges(
    on,
    added.map((row) => row.meter_id),
    added.map((row) => row.at),
  )
}
