import { z } from 'zod'
import type { PushedAppRow } from './git-provider-statements.ts'

const paths = z.array(z.string()).default([])

/** The fields of a push that control uses. */
export const pushEvent = z.object({
  /** `refs/heads/<branch>`. */
  ref: z.string(),
  /** The commit that the branch points to now. */
  after: z.string().regex(/^[0-9a-f]{40}$/),
  deleted: z.boolean().default(false),
  forced: z.boolean().default(false),
  repository: z.object({ clone_url: z.string(), html_url: z.string() }),
  installation: z.object({ id: z.int() }),
  commits: z.array(z.object({ added: paths, modified: paths, removed: paths })).default([]),
})
export type PushEvent = z.infer<typeof pushEvent>

/**
 * Whether the push concerns the app: it is of the app's repository, and changes a file in the app's folder, as far as
 * the event tells.
 */
export function isDeployed(push: PushEvent, { git_url: url, root_directory: folder }: PushedAppRow): boolean {
  if (!isOfRepository(push.repository, url)) return false
  const root = withoutTrailingSlashes((folder ?? '').replace(/^[./]+/, ''))
  // The event lists no changes for a forced push or a new branch, so deploy.
  if (root === '' || push.forced || push.commits.length === 0) return true
  const changed = push.commits.flatMap(({ added, modified, removed }) => [...added, ...modified, ...removed])
  return changed.some((path) => path.startsWith(`${root}/`))
}

/** Whether the app's address is that of the repository. */
export function isOfRepository(repository: PushEvent['repository'], url: string): boolean {
  return [repository.clone_url, repository.html_url].some((each) => plain(each) === plain(url))
}

function plain(url: string): string {
  return withoutTrailingSlashes(url.toLowerCase().replace(/^https?:\/\/([^@/]*@)?/, '')).replace(/\.git$/, '')
}

/** A loop, because `/\/+$/` takes quadratic time for slashes that are followed by other characters. */
function withoutTrailingSlashes(text: string): string {
  let end = text.length
  while (text[end - 1] === '/') end--
  return text.slice(0, end)
}
