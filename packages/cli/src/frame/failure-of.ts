import { ConnectionError } from '@offshoot/sdk'
import { Failure } from './failure.ts'

/** The failure that stands for any error. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
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

const FILE_ERRORS: Readonly<Record<string, readonly [string, string?]>> = {
  ENOENT: ['no such file or directory', 'check the path'],
  EACCES: ['permission denied', 'choose a file that you may use'],
  EPERM: ['permission denied', 'choose a file that you may use'],
  EISDIR: ['is a directory', 'name a file'],
  ENOTDIR: ['is not a directory', 'check the path'],
  EEXIST: ['exists already', 'choose another name'],
  ENOSPC: ['no space left on this machine', 'make room and repeat the command'],
}
