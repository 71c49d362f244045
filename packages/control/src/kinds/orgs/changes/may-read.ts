import { READERS_OF } from '@offshoot/contract/change'
import { isPermitted } from '@offshoot/contract/role'
import type { Noted } from '../identity/change-feed.ts'
import type { Caller } from '../../../platform/http/caller.ts'

/** Whether the caller could read the changed object by its own route. */
export function mayRead(caller: Caller, { kind, owner }: Noted): boolean {
  const readers = READERS_OF[kind]
  if (typeof readers === 'string') return caller.scopes === null || caller.scopes.includes(readers)
  if (caller.method !== 'jwt' || caller.token.isNarrowed) return false
  return (
    (readers.owner === true && owner === caller.user.id) ||
    (readers.permission !== undefined && isPermitted(caller.role, readers.permission))
  )
}
