import { z } from 'zod'
import { queryFlag } from './query-fields.ts'

/** `superseded`: was live and another is now; or was still queued when a newer one came. */
export const deploymentStatus = z.enum(['queued', 'building', 'deploying', 'live', 'failed', 'superseded'])
export type DeploymentStatus = z.infer<typeof deploymentStatus>

/** One deploy of an app as the API shows it. */
export const deployment = z.object({
  /** UUID. */
  id: z.string(),
  app_id: z.string(),
  status: deploymentStatus,
  /** What was asked for. */
  git_ref: z.string(),
  /** The commit it came to, once it is fetched. */
  git_commit: z.string().nullable(),
  /** Where it was built and runs, or sleeps; `null` before and after. */
  sandbox_id: z.string().nullable(),
  /** Why it failed. */
  error: z.string().nullable(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
})
export type Deployment = z.infer<typeof deployment>

/** With all that its build said. */
export const deploymentWithLogs = deployment.extend({ build_logs: z.string() })

/** Query of `GET /v1/apps/{id}/deploys/{deployment_id}/logs` and of `GET /v1/apps/{id}/runtime-logs`. */
export const logsFollowQuery = z.object({ follow: queryFlag('follow') })
