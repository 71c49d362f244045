import type { AppRow } from './app-row.ts'

/** Finds the credential of an app's repository, for one clone. */
export interface GitCredentials {
  /** `user:password`; `null` if the repository needs none, or if control has none for it. */
  of(app: Pick<AppRow, 'workspace_id' | 'git_url'>): Promise<string | null>
}

/** For installations without a git provider. */
export const NO_CREDENTIALS: GitCredentials = { of: async () => null }
