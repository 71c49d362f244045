import type { AgentAttachment } from '@offshoot/contract/agent-volume'
import { ApiError } from '@offshoot/contract/errors'
import type { SnapshotId, WorkspaceId } from '@offshoot/contract/ids'
import type { CreateSandboxBody, Egress, Visibility } from '@offshoot/contract/sandbox'
import type { SandboxesContext } from './model/sandboxes-context.ts'
import { type Candidate, candidates } from '../../fleet/placement/candidates.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { findFeatureSnapshot, findOwnSnapshot } from './snapshots/find-snapshot.ts'
import { artifactNodes, type Prepare } from './artifacts/artifact-nodes.ts'
import { findTemplate, type TemplateSize } from '../templates/find-template.ts'
import { findAttachments } from '../volumes/find-attachments.ts'

/** What a new sandbox is restored from, and the agents that can do it, best first. There is always at least one. */
export interface BootSource {
  readonly template: TemplateSize
  readonly snapshotId: SnapshotId | null
  /** The requested setting, else the snapshot's. */
  readonly egress: Egress
  /** Of the snapshot; `public` for a template. */
  readonly visibility: Visibility
  readonly volumes: readonly AgentAttachment[]
  readonly nodes: readonly [Candidate, ...Candidate[]]
  /** Called before a node is asked. */
  readonly prepare?: Prepare
}

interface Wanted {
  /** Of the template; absent: that of the snapshot. */
  readonly name: string | undefined
  readonly text: string
  readonly egress: Egress | undefined
  readonly caller: Caller | null
}

/**
 * @param caller the requesting caller; `null` for a feature's own sandbox, which may use any snapshot of the workspace
 * @throws ApiError 400, 403, 404, 502
 */
export async function bootSource(
  control: SandboxesContext,
  workspaceId: WorkspaceId,
  { template: name, from_snapshot: snapshot, volumes: wanted = [], network }: CreateSandboxBody,
  caller: Caller | null,
): Promise<BootSource> {
  const { agentId, attachments: volumes } = await findAttachments(control, workspaceId, wanted)
  if (snapshot !== undefined) {
    const source = await snapshotSource(control, workspaceId, {
      name,
      text: snapshot,
      egress: network?.egress,
      caller,
    })
    const [node, ...others] = source.nodes.filter(({ info }) => agentId === null || info.agent_id === agentId)
    if (node === undefined) {
      throw new ApiError('conflict', { detail: 'the host of the volumes cannot get the snapshot' })
    }
    return { ...source, volumes, nodes: [node, ...others] }
  }
  // The schema of the body requires one of the two.
  if (name === undefined) throw new ApiError('invalidField', { error: 'template required' })
  const template = await findTemplate(control, workspaceId, name)
  const { able, prepare } = await nodesOf(control, workspaceId, template)
  const { rules } = control.fleet
  if (agentId !== null) rules.refuse(control.fleet.byId(agentId), workspaceId)
  // A volume cannot move, so only its agent can run the sandbox.
  const [first, ...rest] = agentId === null ? able : able.filter(({ info }) => info.agent_id === agentId)
  if (first === undefined) throw agentId === null ? rules.noHost(workspaceId) : new ApiError('agentUnreachable')
  return {
    template,
    snapshotId: null,
    egress: network?.egress ?? 'internet',
    visibility: 'public',
    volumes,
    nodes: [first, ...rest],
    ...(prepare && { prepare }),
  }
}

/** Every host has the global templates. A built one is brought to hosts that do not have it. */
async function nodesOf(
  control: SandboxesContext,
  workspaceId: WorkspaceId,
  { name, built }: TemplateSize,
): Promise<{ readonly able: readonly Candidate[]; readonly prepare?: Prepare }> {
  const { fleet } = control
  if (built === null) return { able: candidates(fleet.rules.allowed(fleet.agents, workspaceId), name) }
  const artifact = { id: built.id, kind: 'template', workspace_id: workspaceId, origin: 'built' } as const
  const { nodes, prepare } = await artifactNodes(control, artifact, workspaceId, false)
  return { able: nodes, prepare }
}

/** A snapshot determines the size; the current state of its template does not matter. */
async function snapshotSource(
  control: SandboxesContext,
  workspaceId: WorkspaceId,
  { name, text, egress, caller }: Wanted,
): Promise<BootSource> {
  const row =
    caller === null
      ? await findFeatureSnapshot(control.database, workspaceId, text)
      : await findOwnSnapshot(control.database, caller, text)
  if (row === undefined) throw new ApiError('notFound', { detail: `unknown snapshot: ${text}` })
  const { template } = row
  if (name !== undefined && name !== template) {
    throw new ApiError('invalidField', { error: `template must be ${template}, the template of the snapshot` })
  }
  const { nodes, prepare } = await artifactNodes(control, { ...row, kind: 'snapshot' }, workspaceId, caller === null)
  const { cpu, memory_mb } = row
  return {
    template: { name: template, cpu, memory_mb, built: null },
    snapshotId: row.id,
    egress: egress ?? row.egress,
    visibility: row.visibility,
    volumes: [],
    nodes,
    prepare,
  }
}
