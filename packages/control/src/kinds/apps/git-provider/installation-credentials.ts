import type pg from 'pg'
import type { GitCredentials } from '../model/git-credentials.ts'
import type { GitProvider } from '../model/git-provider.ts'
import { installationOfAccount } from './git-provider-statements.ts'

/**
 * A token for the app's repository only. It comes from the installation that the app's own workspace has for the
 * repository's account.
 */
export function installationCredentials(pool: pg.Pool, provider: GitProvider): GitCredentials {
  return {
    of: async ({ workspace_id: workspaceId, git_url: gitUrl }) => {
      const account = provider.accountOf(gitUrl)
      const [row] = account === null ? [] : await installationOfAccount(pool, workspaceId, account)
      if (row === undefined) return null
      const token = await provider.cloneToken(row.installation_id, gitUrl)
      return token === null ? null : `x-access-token:${token}`
    },
  }
}
