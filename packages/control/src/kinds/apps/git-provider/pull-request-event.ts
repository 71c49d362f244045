import { z } from 'zod'

/** Actions that deploy the preview, and the one that removes it. */
const DEPLOYING: ReadonlySet<string> = new Set(['opened', 'synchronize', 'reopened'])
const CLOSING = 'closed'

/** The fields of a pull request that control uses. */
export const pullRequestEvent = z.object({
  action: z.string(),
  number: z.int().min(1).max(2_147_483_647),
  pull_request: z.object({
    state: z.string(),
    updated_at: z.iso.datetime({ offset: true }),
    head: z.object({
      ref: z.string().min(1).max(255),
      sha: z.string().regex(/^[0-9a-f]{40}$/),
      /** `null`: the branch's repository was deleted. */
      repo: z.object({ id: z.int() }).nullable(),
    }),
  }),
  repository: z.object({ id: z.int(), clone_url: z.string(), html_url: z.string() }),
  installation: z.object({ id: z.int() }),
})
export type PullRequestEvent = z.infer<typeof pullRequestEvent>

/**
 * `deploy` only for branches of the repository itself, whose authors can also push to the app's branch. Anybody can
 * open a pull request from a fork, and its code would be built with the app's variables.
 */
export function wantedOf({
  action,
  pull_request: pull,
  repository,
}: PullRequestEvent): 'deploy' | 'remove' | 'nothing' {
  if (action === CLOSING) return 'remove'
  const isOwn = pull.head.repo?.id === repository.id
  return DEPLOYING.has(action) && pull.state === 'open' && isOwn ? 'deploy' : 'nothing'
}
