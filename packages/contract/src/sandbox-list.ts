import type { z } from 'zod'
import { createdQuery, once } from './page.ts'
import { queryAnyOf, queryOneOf } from './query-fields.ts'
import { sandboxStatus } from './sandbox.ts'

/** Query of `GET /v1/sandboxes`. Each additional `metadata.KEY=VALUE` filters by that tag. */
export const sandboxListQuery = createdQuery.extend({
  template: once('template').optional(),
  /** In any of these states. */
  status: queryAnyOf('status', sandboxStatus.options),
  /** By `created_at`. Default: `desc`, newest first. */
  order: queryOneOf('order', ['asc', 'desc']),
})

/** A parsed {@link sandboxListQuery} with the tags. */
export type SandboxListQuery = z.infer<typeof sandboxListQuery> & {
  readonly metadata: Readonly<Record<string, string>>
}
