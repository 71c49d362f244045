import type { AppRow } from '../app-row.ts'

/** What opens the repository of an app, for one clone. */
export interface GitCredentials {
  /** `user:password`; `null` for a repository that needs none, or that nobody here has the key of. */
  of(app: Pick<AppRow, 'workspace_id' | 'git_url'>): Promise<string | null>
}

/** Where no git provider is connected. */
export const NO_CREDENTIALS: GitCredentials = { of: async () => null }
