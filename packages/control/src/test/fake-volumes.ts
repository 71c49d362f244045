import type { AgentAttachment, AgentVolume, VolumeOnAgentBody } from '@offshoot/contract/agent-volume'
import type { FakeAgentState } from './fake-agent-state.ts'
import type { Handled } from './handled.ts'

interface Asked {
  readonly method: string
  readonly path: string
  readonly workspaceId: string | undefined
  readonly body: unknown
}

/** The parts of a fake agent that are used here. */
interface WithVolumes {
  readonly state: FakeAgentState
  readonly onAction: (action: string, id: string, body: unknown) => Promise<Handled | undefined>
}

const notFound: Handled = { status: 404, body: { error: 'not found' } }

/** Answers requests about volumes as a real agent does; `undefined` for other requests. */
export async function answerVolumes(agent: WithVolumes, { method, path, workspaceId, body }: Asked) {
  const [, , kind, id = ''] = path.split('/')
  if (kind !== 'volumes') return undefined
  const { state } = agent
  const own = [...state.volumes.values()].filter(
    (each) => workspaceId === undefined || each.workspace_id === workspaceId,
  )
  if (method === 'GET') {
    const volumes = own.map((each) => withAttachments(state, each))
    return { status: 200, body: { volumes, unreadable: [...state.unreadable] } }
  }
  const replaced = await agent.onAction(`${method.toLowerCase()}-volume`, id, body)
  if (replaced !== undefined) return replaced
  if (workspaceId === undefined) return { status: 401, body: { error: 'unauthorized' } }
  if (method === 'POST') return { status: 201, body: addVolume(state, body as VolumeOnAgentBody, workspaceId) }
  const volume = own.find((each) => each.id === id)
  if (method === 'DELETE') return volume === undefined ? { status: 204 } : remove(state, volume)
  if (volume === undefined) return notFound
  const grown = { ...volume, size_mb: (body as { size_mb: number }).size_mb }
  state.volumes.set(id, grown)
  return { status: 200, body: withAttachments(state, grown) }
}

export function addVolume(
  state: FakeAgentState,
  { id, name, size_mb }: VolumeOnAgentBody,
  workspaceId: string,
  change: Partial<AgentVolume> = {},
): AgentVolume {
  const volume: AgentVolume = {
    id,
    workspace_id: workspaceId,
    name,
    size_mb,
    used_bytes: 4096,
    was_attached: false,
    attachments: [],
    created_at: new Date().toISOString(),
    ...change,
  }
  state.volumes.set(id, volume)
  return volume
}

/** The refusal of a create because another sandbox has one of the volumes attached. */
export function refuseAttachments(state: FakeAgentState, wanted: readonly AgentAttachment[]): Handled | undefined {
  for (const { id, read_only: isReadOnly } of wanted) {
    const volume = state.volumes.get(id)
    if (volume === undefined) return notFound
    const holder = withAttachments(state, volume).attachments.find((each) => !isReadOnly || !each.read_only)
    if (holder === undefined) continue
    const error = `volume ${volume.name} is attached to sandbox ${holder.sandbox_id}`
    return { status: 409, body: { error, volume: volume.name, attached_to: holder.sandbox_id } }
  }
  return undefined
}

function withAttachments(state: FakeAgentState, volume: AgentVolume): AgentVolume {
  const attachments = [...state.attached].flatMap(([sandboxId, volumes]) =>
    state.sandboxes.has(sandboxId)
      ? volumes.filter(({ id }) => id === volume.id).map(({ read_only }) => ({ sandbox_id: sandboxId, read_only }))
      : [],
  )
  return { ...volume, attachments }
}

function remove(state: FakeAgentState, volume: AgentVolume): Handled {
  const refused = refuseAttachments(state, [{ id: volume.id, read_only: false }])
  if (refused !== undefined) return refused
  state.volumes.delete(volume.id)
  return { status: 204 }
}
