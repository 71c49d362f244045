import type { ErrorName } from '@offshoot/contract/errors'
import { CREATE_REFUSALS } from '../../billing/limits/create-refusals.ts'

/** Errors of a fork, with one child or several. */
export const FORK_ERRORS: readonly ErrorName[] = [
  'invalidField',
  'notFound',
  'sandboxNotRunning',
  'conflict',
  'sandboxMoving',
  'agentUnreachable',
  'insufficientMemory',
  'sandboxStorage',
  ...CREATE_REFUSALS,
]
