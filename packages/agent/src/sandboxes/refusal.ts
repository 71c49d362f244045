import { ApiError } from '@offshoot/contract/errors'
import type { Host } from './host.ts'
import type { Sandbox } from './sandbox.ts'
import { TooManyWaiting } from './turns.ts'

/**
 * Why something could not be done with a sandbox, as callers are told; what is not theirs to know goes to the log.
 * @param what the sentence of a 500: `sandbox could not be started`
 */
export function refusal(host: Host, { id }: Sandbox, what: string, error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof TooManyWaiting) {
    return new ApiError('insufficientMemory', { detail: 'too many sandboxes are being started' }, { cause: error })
  }
  host.log.error({ err: error, sandbox_id: id }, what)
  if (isDiskFull(error)) return new ApiError('insufficientMemory', { error: 'insufficient host storage for sandbox' })
  return new ApiError('internal', { error: what }, { cause: error })
}

/** Also where QEMU says so: it has no code for it. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT' || /No space left on device|Disk quota exceeded/.test(error.message)
}
