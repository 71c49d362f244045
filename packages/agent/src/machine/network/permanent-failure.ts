/** Messages of `ip` and `nft` when the agent lacks a permission or the kernel lacks a feature. */
const WORDS = [
  'Operation not permitted',
  'Permission denied',
  'Read-only file system',
  'Operation not supported',
  'Protocol not supported',
]
const CODES = new Set(['EPERM', 'EACCES', 'EROFS', 'EOPNOTSUPP', 'EPROTONOSUPPORT'])

/** The host can never do this: retries are pointless. */
export class NotOnThisHost extends Error {
  override readonly name = 'NotOnThisHost'
}

/**
 * Whether every retry would fail, because a permission, a program or a device is missing. Other failures may pass: an `ip` or `nft`
 * that an earlier agent started can still be running, and until it ends a TAP is busy, exists already or is gone already.
 */
export function isPermanent(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof NotOnThisHost) return true
  const { code, syscall, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return syscall?.startsWith('spawn') ?? false
  return CODES.has(code ?? '') || WORDS.some((words) => message.includes(words))
}
