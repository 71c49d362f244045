import { z } from 'zod'
import { once, type Page, pageQuery } from './page.ts'
import { sandboxStatus, type SandboxStatus } from './sandbox.ts'

const STATUS_REFUSED = `status must be one of ${sandboxStatus.options.join(', ')}`

/** Query of `GET /v1/sandboxes`. Each additional `metadata.KEY=VALUE` filters by that tag. */
export const sandboxListQuery = z.object({
  template: once('template').optional(),
  status: z.enum(sandboxStatus.options, { error: STATUS_REFUSED }).optional(),
  ...pageQuery.shape,
})

/** A parsed {@link sandboxListQuery} with its defaults. */
export interface SandboxListQuery extends Page {
  readonly template: string | undefined
  readonly status: SandboxStatus | undefined
  readonly metadata: Readonly<Record<string, string>>
}
