import { randomBytes } from 'node:crypto'
import { isSlug } from '@offshoot/contract/org'

/** Maximum number of characters that a slug takes from the name. */
const MAX_CHARS = 30

/** A slug derived from the name. From the second attempt on, it gets a random suffix. */
export function slugOf(name: string, attempt: number): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_CHARS)
    .replaceAll(/^-+|-+$/g, '')
  if (attempt === 0 && isSlug(plain)) return plain
  const random = randomBytes(4).toString('hex')
  return isSlug(`${plain}-${random}`) ? `${plain}-${random}` : `org-${random}`
}
