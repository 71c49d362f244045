import type { ErrorName } from '@offshoot/contract/errors'
import { CREATE_REFUSALS } from '../../billing/limits/create-refusals.ts'

/** What a fork, of one child or of many, may be refused with. */
export const FORK_ERRORS: readonly ErrorName[] = [
  'invalidField',
  'notFound',
  'sandboxNotRunning',
  'conflict',
  'agentUnreachable',
  'insufficientMemory',
  'sandboxStorage',
  ...CREATE_REFUSALS,
]
