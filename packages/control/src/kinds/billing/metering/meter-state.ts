import type { EventType } from '@offshoot/contract/event'
import { STATUS_AFTER } from '../../../fleet/status-after.ts'

/** What a meter measures at the time. `storage` is volumes beyond the plan; `ended` costs nothing. */
export type MeterState = 'running' | 'paused' | 'hibernated' | 'storage' | 'ended'

/** What an event leaves a sandbox's meter at; `null` where it changes none. */
export function meterStateAfter(event: EventType): MeterState | null {
  const status = STATUS_AFTER[event]
  return status === 'failed' || status === 'removed' ? 'ended' : status
}
