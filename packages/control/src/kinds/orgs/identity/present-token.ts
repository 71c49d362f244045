import type { Token } from '@offshoot/contract/token'
import type { TokenRow } from './api-key-statements.ts'

export function presentToken({ name, created_at, expires_at, last_used_at, ...row }: TokenRow): Token {
  return {
    ...row,
    name,
    label: name,
    created_at: created_at.toISOString(),
    expires_at: expires_at?.toISOString() ?? null,
    last_used_at: last_used_at?.toISOString() ?? null,
  }
}
