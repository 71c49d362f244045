import type { IncomingMessage } from 'node:http'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { BAKE_MISSING } from '@offshoot/contract/agent-move'
import type { FakeAgentState } from './fake-agent-state.ts'
import { readAll } from './fake-answer.ts'
import type { Handled } from './handled.ts'

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
/** The answer does not arrive. */
export const LOST: Handled = { status: 0 }
const MOVING = { error: 'sandbox is moving to another host' }
/** Requests that a moving sandbox still answers. */
const ALLOWED = new Set(['GET', 'DELETE'])

/**
 * Answers requests about moves as a real agent does, and refuses what a moving sandbox refuses; `undefined` for other
 * requests. The stream of an export is the sandbox as JSON.
 */
export async function answerMoves(agent: Moving, asked: Asked): Promise<Handled | undefined> {
  const { method, url, workspaceId, request } = asked
  const { state } = agent
  const [, , kind, id = '', action = ''] = url.pathname.split('/')
  if (url.pathname === '/v1/bakes')
    return (await agent.onMove('bakes', '')) ?? { status: 200, body: { hashes: [...state.bakes] } }
  if (kind !== 'sandboxes' || id === '') return undefined
  if (!ACTIONS.has(action)) {
    const isMoving = state.sandboxes.get(id)?.move !== undefined
    return !isMoving || ALLOWED.has(method) ? undefined : { status: 409, body: MOVING }
  }
  const body = method === 'GET' ? '' : await readAll(request)
  const step = action === 'settle' ? (JSON.parse(body) as { outcome: string }).outcome : action
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
  readonly body: string
}

function move(state: FakeAgentState, { id, step, url, workspaceId, body }: Step): Handled {
  const found = state.sandboxes.get(id)
  const moveId = url.searchParams.get('move_id') ?? ''
  if (step === 'import') return arrive(state, found, JSON.parse(body) as Exported, moveId)
  if (found === undefined && step === 'gone') return { status: 204 }
  if (found === undefined || found.workspace_id !== workspaceId)
    return { status: 404, body: { error: 'sandbox not found' } }
  if (step === 'export') return exported(state, found, moveId, url.searchParams.getAll('have'))
  const asked = JSON.parse(body) as { move_id: string; outcome: string }
  return step === 'leave' ? leave(state, found, asked.move_id) : settle(state, found, asked)
}

/** The records of the sandbox's log stay at the source. */
interface Exported {
  readonly sandbox: AgentSandbox
  readonly bake: string
  readonly hasBake: boolean
}

function leave(state: FakeAgentState, found: AgentSandbox, moveId: string): Handled {
  if (found.move !== undefined && found.move.id !== moveId) return { status: 409, body: MOVING }
  if (found.status !== 'hibernated') return { status: 409, body: { error: 'conflict', detail: 'it is not hibernated' } }
  if (state.cannotMove !== null) return { status: 409, body: { error: 'conflict', detail: state.cannotMove } }
  state.sandboxes.set(found.id, { ...found, move: { id: moveId, direction: 'leaving' } })
  return { status: 200, body: { move_id: moveId, bytes: 1000, bake: { hash: state.bake, bytes: 500 } } }
}

function exported(state: FakeAgentState, found: AgentSandbox, moveId: string, have: readonly string[]): Handled {
  if (found.move?.id !== moveId) return { status: 409, body: { error: 'conflict', detail: 'it is not moving' } }
  const hasBake = !have.includes(state.bake)
  return { status: 200, body: { sandbox: found, bake: state.bake, hasBake } satisfies Exported }
}

function arrive(
  state: FakeAgentState,
  found: AgentSandbox | undefined,
  { sandbox, bake, hasBake }: Exported,
  moveId: string,
): Handled {
  if (found !== undefined && found.move?.id !== moveId) return { status: 409, body: { error: 'conflict' } }
  if (!hasBake && !state.bakes.has(bake)) return { status: 409, body: { error: 'conflict', detail: BAKE_MISSING } }
  state.bakes.add(bake)
  const arrived = { ...sandbox, last_seq: 0, move: { id: moveId, direction: 'arriving' } } as const
  state.sandboxes.set(sandbox.id, arrived)
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
  if (move?.id !== moveId) return { status: 409, body: { error: 'conflict', detail: 'it is not moving' } }
  state.sandboxes.delete(found.id)
  return { status: 204 }
}
