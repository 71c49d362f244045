import { randomBytes } from 'node:crypto'
import { isSlug } from '@offshoot/contract/org'

/** Characters of a name that its slug takes over. */
const MAX_CHARS = 30

/** A slug that resembles the name, with something random behind it unless it is the first try. */
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
