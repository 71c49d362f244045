import type { ReconcileOptions } from '../../fleet/agent-hooks.ts'
import { templateRowsOfAgent } from '../../fleet/artifact-host-statements.ts'
import { listTemplates } from '../../fleet/build-calls.ts'
import { COPY_SECONDS, deleteStrays, endCopy, settleLost, settlePresent } from '../../fleet/settle-artifacts.ts'
import { otherTemplateIds } from './template-statements.ts'

/**
 * Compares an agent's templates with the rows that refer to the agent, in the same order as for snapshots.
 *
 * - A template that no row refers to is deleted if the brake allows it: a replaced or deleted one, and those of removed
 *   workspaces.
 * - A copy becomes `ready` if the agent has it. It ends if it was abandoned, or the agent has lost it.
 * - A template that its home has lost is that of another host which has it, or of the object store. Otherwise, its row stays.
 *
 * @returns the number of abandoned copies that were ended
 */
export async function reconcileTemplates(options: ReconcileOptions, requestId: string): Promise<number> {
  const { pool, client, agentId } = options
  const readRows = () => templateRowsOfAgent(pool, agentId, COPY_SECONDS)
  const before = await readRows()
  const { templates, unreadable } = await listTemplates(client, requestId)
  const listed = new Set([...templates.map(({ id }) => id), ...unreadable])
  const others = new Set((await otherTemplateIds(pool, agentId)).map(({ id }) => id))
  // A build that ends is a row before it is no build in progress any more.
  const after = new Map((await readRows()).map((row) => [row.id, row]))
  for (const { id } of templates) {
    const row = after.get(id)
    if (row !== undefined) await settlePresent(options, row)
  }
  const strays = templates.filter(({ id }) => !after.has(id) && !others.has(id))
  await deleteStrays(options, 'template', strays, requestId)
  await settleLost(
    options,
    'template',
    before.filter(({ id, is_ready: isReady }) => isReady && !listed.has(id)),
  )
  const abandoned = [...after.values()].filter((row) => !row.is_ready && row.is_abandoned)
  const givenUp = abandoned.filter(({ id }) => !listed.has(id))
  for (const row of givenUp) await endCopy(options, 'template', row, requestId)
  return givenUp.length
}
