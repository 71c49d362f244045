import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { BAKE_MISSING, ONLY_HEADER } from '@offshoot/contract/agent-move'
import { type FakeAgentState, fakeSandbox } from './fake-agent-state.ts'
import { fakeStream, headerOf } from './fake-move-stream.ts'
import { answerSnapshotMoves } from './fake-snapshot-moves.ts'
import { answerTemplateMoves } from './fake-template-moves.ts'
import { type Handled, LOST } from './handled.ts'

interface Moving {
  readonly state: FakeAgentState
  readonly onMove: (step: string, id: string) => Promise<Handled | undefined>
  readonly lostAnswers: Set<string>
}

interface Asked {
  readonly method: string
  readonly url: URL
  readonly workspaceId: string | undefined
  readonly request: IncomingMessage
}

const ACTIONS = new Set(['leave', 'export', 'import', 'settle'])
const MOVING = { error: 'sandbox is moving to another host' }
/** Requests that a moving sandbox still answers. */
const ALLOWED = new Set(['GET', 'DELETE'])

/**
 * Answers requests about moves as a real agent does, and refuses what a moving sandbox refuses; `undefined` for other
 * requests. The stream of an export has no files.
 */
export async function answerMoves(agent: Moving, asked: Asked): Promise<Handled | undefined> {
  const { method, url, workspaceId, request } = asked
  const { state } = agent
  const [, , kind, id = '', action = ''] = url.pathname.split('/')
  if (url.pathname === '/v1/bakes')
    return (await agent.onMove('bakes', '')) ?? { status: 200, body: { hashes: [...state.bakes] } }
  if (kind === 'snapshots') return answerSnapshotMoves(agent, { id, action, url, workspaceId, request })
  if (kind === 'templates') return answerTemplateMoves(agent, { id, action, workspaceId, request })
  if (kind !== 'sandboxes' || id === '') return undefined
  if (!ACTIONS.has(action)) {
    const isMoving = state.sandboxes.get(id)?.move !== undefined
    return !isMoving || ALLOWED.has(method) ? undefined : { status: 409, body: MOVING }
  }
  const body = method === 'GET' ? Buffer.alloc(0) : await buffer(request).catch(() => Buffer.alloc(0))
  const step = action === 'settle' ? (JSON.parse(body.toString()) as { outcome: string }).outcome : action
  const replaced = await agent.onMove(step, id)
  if (replaced !== undefined) return replaced
  const moved = move(state, { id, step, url, workspaceId, body })
  return agent.lostAnswers.delete(step) ? LOST : moved
}

interface Step {
  readonly id: string
  readonly step: string
  readonly url: URL
  readonly workspaceId: string | undefined
  readonly body: Buffer
}

function move(state: FakeAgentState, { id, step, url, workspaceId, body }: Step): Handled {
  const found = state.sandboxes.get(id)
  const moveId = url.searchParams.get('move_id') ?? ''
  if (step === 'import') return arrive(state, { id, workspaceId, url, body }, found)
  if (found === undefined && (step === 'gone' || step === 'taken')) return { status: 204 }
  if (found === undefined || found.workspace_id !== workspaceId)
    return { status: 404, body: { error: 'sandbox not found' } }
  if (step === 'export') return exported(state, found, moveId, url)
  const asked = JSON.parse(body.toString()) as { move_id: string; outcome: string }
  return step === 'leave' ? leave(state, found, asked.move_id) : settle(state, found, asked)
}

function leave(state: FakeAgentState, found: AgentSandbox, moveId: string): Handled {
  if (found.move !== undefined && found.move.id !== moveId) return { status: 409, body: MOVING }
  if (found.status !== 'hibernated') return { status: 409, body: { error: 'conflict', detail: 'it is not hibernated' } }
  if (state.cannotMove !== null) return { status: 409, body: { error: 'conflict', detail: state.cannotMove } }
  state.sandboxes.set(found.id, { ...found, move: { id: moveId, direction: 'leaving' } })
  return { status: 200, body: { move_id: moveId, bytes: 1000, bake: { hash: state.bake, bytes: 500 } } }
}

function exported(state: FakeAgentState, found: AgentSandbox, moveId: string, url: URL): Handled {
  if (found.move?.id !== moveId) return { status: 409, body: { error: 'conflict', detail: 'it is not moving' } }
  const hasBake = !url.searchParams.getAll('have').includes(state.bake)
  const only = url.searchParams.get('only')
  const body = fakeStream(found, moveId, state.bake, hasBake)
  return { status: 200, body, ...(only !== null && state.knowsOnly && { headers: { [ONLY_HEADER]: only } }) }
}

function arrive(
  state: FakeAgentState,
  { id, workspaceId, url, body }: Pick<Step, 'id' | 'workspaceId' | 'url' | 'body'>,
  found: AgentSandbox | undefined,
): Handled {
  const moveId = url.searchParams.get('move_id') ?? ''
  if (found !== undefined && found.move?.id !== moveId) return { status: 409, body: { error: 'conflict' } }
  const header = headerOf(body)
  if (header === null || 'snapshot' in header) return { status: 400, body: { error: 'the stream is damaged' } }
  const { sandbox, bake } = header
  if (header.move_id !== moveId || sandbox.id !== id || sandbox.workspace_id !== workspaceId)
    return { status: 400, body: { error: 'the stream is of another sandbox or of another move' } }
  if (!bake.is_included && !state.bakes.has(bake.hash))
    return { status: 409, body: { error: 'conflict', detail: BAKE_MISSING } }
  state.bakes.add(bake.hash)
  const made = fakeSandbox(id, sandbox.workspace_id, sandbox.template, {})
  const arrived = { ...made, status: 'hibernated', move: { id: moveId, direction: 'arriving' } } as const
  state.sandboxes.set(id, arrived)
  return { status: 200, body: arrived }
}

function settle(
  state: FakeAgentState,
  found: AgentSandbox,
  { move_id: moveId, outcome }: { move_id: string; outcome: string },
): Handled {
  const { move, ...rest } = found
  if (outcome === 'stay') {
    if (move?.id === moveId) state.sandboxes.set(found.id, rest)
    return { status: 204 }
  }
  const isTaken = outcome === 'taken' && state.lease.generation !== null && !state.lease.isHeld
  if (!isTaken && (outcome === 'taken' || move?.id !== moveId))
    return { status: 409, body: { error: 'conflict', detail: 'it is not moving' } }
  state.sandboxes.delete(found.id)
  state.archives.delete(found.id)
  return { status: 204 }
}
