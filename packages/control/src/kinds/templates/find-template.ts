import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { templateByName } from './template-statements.ts'

/** What a create needs to know about a template. */
export interface TemplateSize {
  readonly name: string
  readonly cpu: number
  readonly memory_mb: number
  /** Of a built template: its id on the agents that have it. */
  readonly built: { readonly id: string } | null
}

/**
 * A template that the workspace may use. Looks first at the templates that agents report, which needs no query, then in
 * the database.
 *
 * @throws ApiError 404 with the template's name in its detail
 */
export async function findTemplate(
  control: BillingContext,
  workspaceId: WorkspaceId,
  name: string,
): Promise<TemplateSize> {
  for (const agent of control.fleet.agents) {
    const offered = agent.info?.templates.find((template) => template.is_global && template.name === name)
    if (offered !== undefined) return { ...offered, built: null }
  }
  // PostgreSQL cannot store NUL in a text, so no template has such a name.
  const [row] = name.includes('\0') ? [] : await templateByName(control.database.pool, workspaceId, name)
  if (row === undefined) throw new ApiError('notFound', { detail: `unknown template: ${name}` })
  return { ...row, built: row.id === null ? null : { id: row.id } }
}
