import { APP_TEMPLATE } from '@offshoot/contract/app'
import { ApiError } from '@offshoot/contract/errors'
import type { AppsContext } from '../model/apps-context.ts'
import type { BootSource } from '../../sandboxes/boot-source.ts'
import { isCandidate } from '../../../fleet/placement/candidates.ts'
import type { TreeRow } from './tree-statements.ts'

/** A boot source with the installed tree, on the agent that has it. @throws ApiError 502 */
export function treeSource(
  { fleet }: Pick<AppsContext, 'fleet'>,
  { id, workspace_id: workspaceId, agent_id: agentId }: TreeRow,
): BootSource {
  const node = fleet.byId(agentId)
  if (node === undefined || !isCandidate(node)) throw new ApiError('agentUnreachable')
  if (!fleet.rules.allows(node, workspaceId)) throw fleet.rules.noHost(workspaceId)
  const size = node.info.templates.find(({ name, is_global: isGlobal }) => isGlobal && name === APP_TEMPLATE)
  if (size === undefined) throw new ApiError('agentUnreachable')
  const { cpu, memory_mb } = size
  return {
    template: { name: APP_TEMPLATE, cpu, memory_mb, built: { id } },
    snapshotId: null,
    egress: 'internet',
    visibility: 'public',
    volumes: [],
    nodes: [node],
  }
}

/**
 * The digest of the image in which apps are built, which determines all versions of its programs; `null` if no agent
 * reports it.
 */
export function appImageDigest({ fleet }: Pick<AppsContext, 'fleet'>): string | null {
  for (const { info } of fleet.agents) {
    const digest = info?.templates.find(({ name, is_global: isGlobal }) => isGlobal && name === APP_TEMPLATE)?.meta[
      'image_digest'
    ]
    if (typeof digest === 'string') return digest
  }
  return null
}
