import { databaseOfUser } from '@offshoot/contract/database'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'

export interface RequestedDatabase {
  readonly id: SandboxId
  /** The role inside the database, if the user name contains more. */
  readonly user: string
}

/**
 * Finds the requested database. The TLS server name names it if it is `<id>.db.<suffix>`. Otherwise the user name does:
 * the owner's, or another role followed by the owner's, as in `reader.db_0123…`.
 * @returns `null` if neither names a database, or if they name different ones
 */
export function requestedDatabase(
  user: string,
  serverName: string | null,
  suffix: string | null,
): RequestedDatabase | null {
  const named = suffix === null || serverName === null ? null : ofServerName(serverName.toLowerCase(), suffix)
  const dot = user.lastIndexOf('.')
  const owner = databaseOfUser(user.slice(dot + 1))
  if (owner === null) return named === null ? null : { id: named, user }
  const id = parseSandboxId(owner)
  if (id === null || (named !== null && named !== id)) return null
  return { id, user: dot < 0 ? user : user.slice(0, dot) }
}

function ofServerName(name: string, suffix: string): SandboxId | null {
  const end = `.db.${suffix}`
  return name.endsWith(end) ? parseSandboxId(name.slice(0, -end.length)) : null
}
