import { constants } from 'node:os'
import { ApiError, type ErrorName } from '@offshoot/contract/errors'
import type { GuestFileError } from '@offshoot/guest-link/guest-file-error'

interface Refusal {
  readonly kind: ErrorName
  readonly error: string
}

/**
 * How a failed system call in the guest is reported to callers. An unlisted errno becomes a 400 with the guest's message, never
 * a 5xx: the guest is untrusted and must not make the service look broken. No 403: clients take it for a bad credential.
 */
const refusals: Readonly<Partial<Record<keyof typeof constants.errno, Refusal>>> = {
  ENOENT: { kind: 'fileNotFound', error: 'no such file or directory' },
  ENOTDIR: { kind: 'invalidField', error: 'not a directory' },
  EISDIR: { kind: 'invalidField', error: 'is a directory' },
  EINVAL: { kind: 'invalidField', error: 'not a regular file, or not possible there' },
  ENXIO: { kind: 'invalidField', error: 'not a regular file' },
  ENODEV: { kind: 'invalidField', error: 'not a regular file' },
  ELOOP: { kind: 'invalidField', error: 'too many levels of symbolic links' },
  ENAMETOOLONG: { kind: 'invalidField', error: 'file name too long' },
  EACCES: { kind: 'invalidField', error: 'permission denied' },
  EPERM: { kind: 'invalidField', error: 'operation not permitted' },
  EROFS: { kind: 'invalidField', error: 'read-only file system' },
  EXDEV: { kind: 'invalidField', error: 'leads to another file system or out of the directory' },
  EBADMSG: { kind: 'invalidField', error: 'not a whole tar archive' },
  EIO: { kind: 'invalidField', error: 'input/output error' },
  ENOSYS: { kind: 'conflict', error: 'the guest program of this sandbox is older than this option' },
  ESTALE: { kind: 'conflict', error: 'the file was cut while it was read' },
  EEXIST: { kind: 'conflict', error: 'file exists' },
  ENOTEMPTY: { kind: 'conflict', error: 'directory not empty' },
  EBUSY: { kind: 'conflict', error: 'in use' },
  ETXTBSY: { kind: 'conflict', error: 'a program that runs' },
  EFBIG: { kind: 'bodyTooLarge', error: 'larger than the file system takes' },
  ENOSPC: { kind: 'diskFull', error: 'no space left in the sandbox' },
  EDQUOT: { kind: 'diskFull', error: 'no space left in the sandbox' },
  EAGAIN: { kind: 'tooManyCommands', error: 'too many operations in this sandbox' },
  ENOMEM: { kind: 'tooManyCommands', error: 'out of memory in this sandbox' },
  EMFILE: { kind: 'tooManyCommands', error: 'too many open files in this sandbox' },
  ENFILE: { kind: 'tooManyCommands', error: 'too many open files in this sandbox' },
}

/** Indexed by number, because some numbers have two names. */
const byNumber = new Map(
  Object.entries(refusals).map(([name, refusal]) => [constants.errno[name as keyof typeof refusals], refusal]),
)

export function fileRefusal(failure: GuestFileError): ApiError {
  const { kind, error } = byNumber.get(failure.errno) ?? { kind: 'invalidField', error: failure.message }
  return new ApiError(kind, { error }, { cause: failure })
}
