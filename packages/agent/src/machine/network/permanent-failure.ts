/** In the words of `ip` and `nft`: no right to, or a kernel that has no such thing. */
const WORDS = [
  'Operation not permitted',
  'Permission denied',
  'Read-only file system',
  'Operation not supported',
  'Protocol not supported',
]
const CODES = new Set(['EPERM', 'EACCES', 'EROFS', 'EOPNOTSUPP', 'EPROTONOSUPPORT'])

/** What this host will refuse the next time as well. */
export class NotOnThisHost extends Error {
  override readonly name = 'NotOnThisHost'
}

/**
 * Whether trying again is in vain: a right, a program or a device is missing. All else may pass: what an agent that was killed had begun
 * (`ip`, `nft`) ends within a moment, and until then a TAP is busy, there already or no longer there.
 */
export function isPermanent(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof NotOnThisHost) return true
  const { code, syscall, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return syscall?.startsWith('spawn') ?? false
  return CODES.has(code ?? '') || WORDS.some((words) => message.includes(words))
}
