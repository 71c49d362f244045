import { databaseOfUser } from '@offshoot/contract/database'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'

export interface WantedDatabase {
  readonly id: SandboxId
  /** The role inside, where the name outside says more than that. */
  readonly user: string
}

/**
 * Which database a connection is for. Its server name says it where that is `<id>.db.<suffix>`; else the user's name, which is the owner's
 * own, or that of another role with the owner's behind it: `reader.db_0123…`.
 * @returns `null` when neither says so, or both and differently
 */
export function wantedDatabase(user: string, serverName: string | null, suffix: string | null): WantedDatabase | null {
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
