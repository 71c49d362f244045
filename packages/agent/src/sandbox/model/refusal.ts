import { ApiError } from '@offshoot/contract/errors'
import { GuestLinkLost, GuestNotAsked } from '@offshoot/guest-link/guest-link-error'
import { QmpConnectionError } from '@offshoot/qmp/qmp-error'
import { CheckpointDamaged, CheckpointIncompatible } from '../../store/checkpoints/checkpoint-errors.ts'
import { isDiskFull } from '../../store/data-dir/full-disk.ts'
import { endsSoon } from './guest-access.ts'
import type { Host } from './host.ts'
import type { Sandbox } from './sandbox.ts'
import { TooManyWaiting } from '@offshoot/kit/semaphore'

/**
 * Why something could not be done with a sandbox, as callers are told; what is not theirs to know goes to the log.
 * @param what the sentence of a 500: `sandbox could not be started`
 */
export async function refusal(host: Host, { id, vm }: Sandbox, what: string, error: unknown): Promise<ApiError> {
  if (error instanceof ApiError) return error
  const isLost = [QmpConnectionError, GuestLinkLost, GuestNotAsked].some((kind) => error instanceof kind)
  if (isLost && vm !== null && (await endsSoon(vm))) return new ApiError('sandboxNotRunning', {}, { cause: error })
  if (error instanceof TooManyWaiting) {
    return new ApiError('insufficientMemory', { detail: 'too many sandboxes are being started' }, { cause: error })
  }
  const unfit = refusalOfCheckpoint(what, error)
  if (unfit instanceof ApiError) return unfit
  host.log.error({ err: error, sandbox_id: id }, what)
  if (isDiskFull(error)) return new ApiError('sandboxStorage', {}, { cause: error })
  return new ApiError('internal', { error: what }, { cause: error })
}

/** Its words are for the caller: they say what differs. Any other error as it is. */
export function refusalOfCheckpoint(what: string, error: unknown): unknown {
  if (error instanceof CheckpointIncompatible) {
    return new ApiError('conflict', { error: what, detail: error.message }, { cause: error })
  }
  if (error instanceof CheckpointDamaged) {
    return new ApiError('internal', { error: what, detail: error.message }, { cause: error })
  }
  return error
}
