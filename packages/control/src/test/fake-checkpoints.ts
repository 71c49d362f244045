import type {
  AgentFork,
  AgentLifecyclePatch,
  AgentSandbox,
  AgentSnapshot,
  ForkOnAgentBody,
  PromoteOnAgentBody,
} from '@offshoot/contract/agent-api'
import type { EventType } from '@offshoot/contract/event'
import { DEFAULT_IDLE_TIMEOUT_SECONDS, type SandboxStatus } from '@offshoot/contract/sandbox'
import { type FakeAgentState, FAKE_SIZE } from './fake-agent-state.ts'
import type { Handled } from './handled.ts'

/** The statuses before and after each transition, and its event. */
const MOVES: Record<string, readonly [from: SandboxStatus, to: SandboxStatus, type: EventType]> = {
  pause: ['running', 'paused', 'sandbox.paused'],
  resume: ['paused', 'running', 'sandbox.resumed'],
  hibernate: ['running', 'hibernated', 'sandbox.hibernated'],
  wake: ['hibernated', 'running', 'sandbox.woken'],
}

/** The parts of a fake agent that are used here. */
interface Checkpointing {
  readonly state: FakeAgentState
  readonly onAction: (action: string, id: string, body: unknown) => Promise<Handled | undefined>
  log(type: EventType, sandboxId: string, metadata?: Record<string, unknown>): unknown
  addSandbox(id: string, workspaceId: string, template: string, origin: object): AgentSandbox
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly workspaceId: string
  readonly body: unknown
}

/** Answers pause, hibernate, snapshot and fork requests as a real agent does; `undefined` for other requests. */
export async function answerCheckpoints(agent: Checkpointing, asked: Asked): Promise<Handled | undefined> {
  const { method, path, workspaceId, body } = asked
  const [, , kind, id = '', action = ''] = path.split('/')
  if (kind === 'snapshots') {
    return (await agent.onAction('delete-snapshot', id, body)) ?? deleteSnapshot(agent, id, workspaceId)
  }
  const sandbox = agent.state.sandboxes.get(id)
  if (sandbox?.workspace_id !== workspaceId) return undefined
  if (method === 'GET' && action === '') return { status: 200, body: sandbox }
  const replaced = await agent.onAction(action, id, body)
  if (replaced !== undefined) return replaced
  switch (action) {
    case 'lifecycle':
      return lifecycle(agent, id, method === 'PATCH' ? (body as AgentLifecyclePatch) : {})
    case 'snapshots':
      return { status: 201, body: addSnapshot(agent, sandbox, (body as { id: string }).id, 'user') }
    case 'fork':
      return { status: 201, body: fork(agent, sandbox, body as ForkOnAgentBody) }
    case 'promote':
      return promote(agent, sandbox, body as PromoteOnAgentBody)
    default:
      return move(agent, sandbox, action)
  }
}

export function addSnapshot(
  { state }: Pick<Checkpointing, 'state'>,
  { id: sandboxId, workspace_id, template }: Pick<AgentSandbox, 'id' | 'workspace_id' | 'template'>,
  id: string,
  origin: 'user' | 'fork',
): AgentSnapshot {
  const snapshot = {
    id,
    workspace_id,
    sandbox_id: sandboxId,
    template,
    ...FAKE_SIZE,
    size_bytes: 4096,
    created_at: new Date().toISOString(),
    origin,
  }
  state.snapshots.set(id, snapshot)
  return snapshot
}

function deleteSnapshot({ state }: Checkpointing, id: string, workspaceId: string): Handled {
  const snapshot = state.snapshots.get(id)
  if (snapshot !== undefined && snapshot.workspace_id !== workspaceId) return notFound('snapshot')
  state.snapshots.delete(id)
  return { status: 204 }
}

function lifecycle({ state }: Checkpointing, id: string, patch: AgentLifecyclePatch): Handled {
  const sandbox = state.sandboxes.get(id)
  const visibility = patch.visibility ?? sandbox?.visibility
  if (sandbox !== undefined && visibility !== undefined) state.sandboxes.set(id, { ...sandbox, visibility })
  const current = { persistent: false, idle_timeout_seconds: DEFAULT_IDLE_TIMEOUT_SECONDS, ...state.lifecycles.get(id) }
  const changed = { ...current, ...patch }
  state.lifecycles.set(id, changed)
  return { status: 200, body: { ...changed, visibility, idle_seconds: 7 } }
}

function move(agent: Checkpointing, { id, status }: AgentSandbox, action: string): Handled | undefined {
  const found = MOVES[action]
  if (found === undefined) return undefined
  const [from, to, type] = found
  if (status === from) agent.log(type, id)
  else if (status !== to) {
    const error = 'sandbox not running (paused or hibernated) — resume/wake it first'
    return { status: 409, body: { error } }
  }
  return { status: 200, body: agent.state.sandboxes.get(id) }
}

function fork(agent: Checkpointing, parent: AgentSandbox, body: ForkOnAgentBody): AgentFork {
  const { snapshot_id: snapshotId, tree_id: treeId, children } = body
  const snapshot = addSnapshot(agent, parent, snapshotId, 'fork')
  const origin = {
    boot_mode: 'fork',
    from_snapshot: snapshotId,
    parent_id: parent.id,
    fork_tree_id: treeId ?? null,
    visibility: body.visibility ?? parent.visibility,
  } as const
  const made = children.map(({ id }) => agent.addSandbox(id, parent.workspace_id, parent.template, origin))
  // In the order in which they started, which is not the order of the request.
  return { snapshot, children: made.toReversed(), errors: [] }
}

function promote(
  agent: Checkpointing,
  sandbox: AgentSandbox,
  { tree_id: treeId, deleted }: PromoteOnAgentBody,
): Handled {
  if (sandbox.fork_tree_id !== treeId) return { status: 409, body: { error: 'conflict' } }
  agent.state.sandboxes.set(sandbox.id, { ...sandbox, parent_id: null })
  agent.log('fork_tree.promoted', sandbox.id, { tree_id: treeId, deleted })
  return { status: 200, body: agent.state.sandboxes.get(sandbox.id) }
}

function notFound(what: string): Handled {
  return { status: 404, body: { error: `${what} not found` } }
}
