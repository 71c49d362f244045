import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { BillingContext } from '../billing/billing-context.ts'
import { templateByName } from './template-statements.ts'

/** What a create needs of a template. */
export interface TemplateSize {
  readonly name: string
  readonly cpu: number
  readonly memory_mb: number
  /** Of a built one: what its agent knows it by, and that agent. */
  readonly built: { readonly id: string; readonly agentId: string } | null
}

/**
 * A template the workspace may boot. What the agents report is at hand without asking the database; the catalog in it
 * knows the rest.
 *
 * @throws ApiError 404, its detail naming the template
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
  // PostgreSQL takes no NUL in a text; no template is called so.
  const [row] = name.includes('\0') ? [] : await templateByName(control.database.pool, workspaceId, name)
  if (row === undefined) throw new ApiError('notFound', { detail: `unknown template: ${name}` })
  const { id, agent_id: agentId } = row
  return { ...row, built: id === null || agentId === null ? null : { id, agentId } }
}
