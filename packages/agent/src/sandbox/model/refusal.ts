import { ApiError } from '@offshoot/contract/errors'
import { GuestLinkLost, GuestUnavailable } from '@offshoot/guest-link/guest-link-error'
import { QmpConnectionError } from '@offshoot/qmp/qmp-error'
import { CheckpointDamaged, CheckpointIncompatible } from '../../store/checkpoints/checkpoint-errors.ts'
import { isDiskFull } from '../../store/data-dir/full-disk.ts'
import { endsSoon } from './guest-access.ts'
import type { Host } from './host.ts'
import type { Sandbox } from './sandbox.ts'
import { TooManyWaiting } from '@offshoot/kit/semaphore'

/**
 * Translates a failed operation on a sandbox into the error for the caller of the API. Internal details go to the log only.
 * @param what the error text of a 500, such as `sandbox could not be started`
 */
export async function refusal(host: Host, { id, vm }: Sandbox, what: string, error: unknown): Promise<ApiError> {
  if (error instanceof ApiError) return error
  const isLost = [QmpConnectionError, GuestLinkLost, GuestUnavailable].some((kind) => error instanceof kind)
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

/** Translates errors of checkpoints, whose messages the caller may see. Returns other errors unchanged. */
export function refusalOfCheckpoint(what: string, error: unknown): unknown {
  if (error instanceof CheckpointIncompatible) {
    return new ApiError('conflict', { error: what, detail: error.message }, { cause: error })
  }
  if (error instanceof CheckpointDamaged) {
    return new ApiError('internal', { error: what, detail: error.message }, { cause: error })
  }
  return error
}
