import type { EventType } from '@offshoot/contract/event'
import { STATUS_AFTER } from '../../../fleet/status-after.ts'

/** What a meter currently measures. `storage` is volume bytes beyond the plan; `ended` costs nothing. */
export type MeterState = 'running' | 'paused' | 'hibernated' | 'storage' | 'ended'

/** The state of a sandbox's meter after an event; `null` if the event does not change it. */
export function meterStateAfter(event: EventType): MeterState | null {
  const status = STATUS_AFTER[event]
  return status === 'failed' || status === 'removed' ? 'ended' : status
}
