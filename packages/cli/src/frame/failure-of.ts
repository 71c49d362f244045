import { ApiError, ConnectionError, TimeoutError } from '@offshoot/sdk'
import { UnreachableError } from './client.ts'
import { EXIT, Failure } from './failure.ts'

const START_OR_NAME = 'start the server with offshoot up, or name another with --base-url or OFFSHOOT_BASE_URL'

/** The failure that stands for any error. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof ApiError) return refusal(error)
  if (error instanceof UnreachableError) return new Failure(error.message, { next: START_OR_NAME, cause: error })
  if (error instanceof TimeoutError)
    return new Failure('the server did not answer in time', { next: START_OR_NAME, cause: error })
  // A stream broke or was silent.
  if (error instanceof ConnectionError) return new Failure(error.message, { cause: error })
  const { code, path, message } = (error ?? {}) as NodeJS.ErrnoException
  const [text, next] = FILE_ERRORS[code ?? ''] ?? []
  if (text !== undefined && path !== undefined)
    return new Failure(`${path}: ${text}`, { next: next ?? null, cause: error })
  return new Failure(message || 'something unexpected happened', {
    next: 'repeat the command, and report it if it stays',
    cause: error,
  })
}

/** What the user can do about a status. */
const NEXT: Readonly<Record<number, readonly [exitCode: number, next: string | null]>> = {
  401: [EXIT.noPermission, 'sign in with offshoot login, or set OFFSHOOT_API_KEY'],
  402: [EXIT.limit, 'see the plan and its credit in the billing of the workspace'],
  403: [EXIT.noPermission, 'ask an owner of the workspace for the permission'],
  404: [EXIT.notFound, null],
  413: [EXIT.limit, null],
  429: [EXIT.limit, 'wait a moment and repeat the command, or delete what you no longer need'],
  507: [EXIT.limit, 'delete what you no longer need, or ask the operator for more space'],
}

type Refusal = Pick<ApiError, 'status' | 'body' | 'requestId'>

/** The failure that stands for a refusal of the API. */
export function refusal({ status, body: { error, detail }, requestId }: Refusal): Failure {
  const [exitCode, next] = NEXT[status] ?? [EXIT.failed, status >= 500 ? 'repeat the command' : null]
  // The API gives every answer an id. This one is of a proxy, or of another server.
  if (requestId === null)
    return new Failure(`the server answered ${status} without an explanation`, {
      exitCode,
      next: next ?? 'check the address of the API (--base-url, OFFSHOOT_BASE_URL)',
    })
  // The text says itself what to do ("resume/wake it first").
  const [message = error, ownNext] = error.split(' — ')
  return new Failure(detail === undefined ? message : `${message} (${detail})`, {
    exitCode,
    next: ownNext ?? next,
    requestId,
  })
}

const FILE_ERRORS: Readonly<Record<string, readonly [string, string?]>> = {
  ENOENT: ['no such file or directory', 'check the path'],
  EACCES: ['permission denied', 'choose a file that you may use'],
  EPERM: ['permission denied', 'choose a file that you may use'],
  EISDIR: ['is a directory', 'name a file'],
  ENOTDIR: ['is not a directory', 'check the path'],
  EEXIST: ['exists already', 'choose another name'],
  ENOSPC: ['no space left on this machine', 'make room and repeat the command'],
}
