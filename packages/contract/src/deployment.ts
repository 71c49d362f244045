import { z } from 'zod'
import { createdQuery, once } from './page.ts'
import { queryFlag, queryOneOf } from './query-fields.ts'

/** `superseded`: it was live until another version replaced it, or a newer deployment arrived while it was queued. */
export const deploymentStatus = z.enum(['queued', 'building', 'deploying', 'live', 'failed', 'superseded'])
export type DeploymentStatus = z.infer<typeof deploymentStatus>

/** One deployment of an app. */
export const deployment = z.object({
  /** UUID. */
  id: z.string(),
  app_id: z.string(),
  status: deploymentStatus,
  /** The requested branch, tag or commit. */
  git_ref: z.string(),
  /** The commit that `git_ref` resolved to; `null` until it is fetched. */
  git_commit: z.string().nullable(),
  /** The sandbox that builds and runs the version; `null` before it is created and after it is deleted. */
  sandbox_id: z.string().nullable(),
  /** Why it failed. */
  error: z.string().nullable(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
})
export type Deployment = z.infer<typeof deployment>

/** A deployment with its full build log. */
export const deploymentWithLogs = deployment.extend({ build_logs: z.string() })

/** Query of `GET /v1/apps/{id}/deploys/{deployment_id}/logs` and of `GET /v1/apps/{id}/runtime-logs`. */
export const logsFollowQuery = z.object({ follow: queryFlag('follow') })

/** Query of `GET /v1/apps/{id}/deploys`. */
export const deployListQuery = createdQuery.extend({
  status: queryOneOf('status', deploymentStatus.options),
  /** The requested branch, tag or commit. */
  git_ref: once('git_ref').optional(),
  /** The complete commit. */
  git_commit: once('git_commit').optional(),
})
