import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { BAKE_MISSING, NO_SNAPSHOT, ONLY_HEADER } from '@offshoot/contract/agent-move'
import type { FakeAgentState } from './fake-agent-state.ts'
import { fakeSnapshotStream, headerOf } from './fake-move-stream.ts'
import { type Handled, LOST } from './handled.ts'

interface Moving {
  readonly state: FakeAgentState
  readonly onMove: (step: string, id: string) => Promise<Handled | undefined>
  readonly lostAnswers: Set<string>
}

interface Asked {
  readonly id: string
  readonly action: string
  readonly url: URL
  readonly workspaceId: string | undefined
  readonly request: IncomingMessage
}

const ACTIONS = new Set(['content', 'export', 'import'])

/**
 * Answers requests that bring snapshots to other hosts, as a real agent does; `undefined` for other requests. A stream has no
 * files.
 */
export async function answerSnapshotMoves(agent: Moving, asked: Asked): Promise<Handled | undefined> {
  const { id, action, request } = asked
  if (!ACTIONS.has(action)) return undefined
  const step = `${action}-snapshot`
  const body = action === 'import' ? await buffer(request).catch(() => Buffer.alloc(0)) : Buffer.alloc(0)
  const replaced = await agent.onMove(step, id)
  if (replaced !== undefined) return replaced
  const { state } = agent
  const answered = action === 'import' ? arrive(state, asked, body) : sent(state, asked)
  return agent.lostAnswers.delete(step) ? LOST : answered
}

function sent(state: FakeAgentState, { id, action, url, workspaceId }: Asked): Handled {
  const found = state.snapshots.get(id)
  if (found === undefined || found.workspace_id !== workspaceId) {
    return { status: 404, body: { error: 'not found', detail: NO_SNAPSHOT } }
  }
  const hasMemory = !state.withoutMemory.has(id)
  const { bake } = state
  if (action === 'content') {
    return { status: 200, body: { bytes: 1000, bake: { hash: bake, bytes: 500 }, has_memory: hasMemory } }
  }
  const only = url.searchParams.get('only')
  const isIncluded = !url.searchParams.getAll('have').includes(bake)
  const isWhole = hasMemory && url.searchParams.get('memory') !== 'none'
  const body = fakeSnapshotStream(found, { hash: bake, is_included: isIncluded }, isWhole)
  return { status: 200, body, ...(only !== null && { headers: { [ONLY_HEADER]: only } }) }
}

function arrive(state: FakeAgentState, { id, workspaceId }: Asked, body: Buffer): Handled {
  const known = state.snapshots.get(id)
  if (known !== undefined) return { status: 200, body: known }
  const header = headerOf(body)
  if (header === null || !('snapshot' in header)) return { status: 400, body: { error: 'the stream is damaged' } }
  const { snapshot, bake, memory } = header
  if (snapshot.id !== id || snapshot.workspace_id !== workspaceId)
    return { status: 400, body: { error: 'the stream is of another snapshot' } }
  if (!bake.is_included && !state.bakes.has(bake.hash))
    return { status: 409, body: { error: 'conflict', detail: BAKE_MISSING } }
  state.bakes.add(bake.hash)
  const { guest_ip: _ip, devices: _devices, run_as: _runAs, durable: _durable, ...shown } = snapshot
  const arrived = { ...shown, size_bytes: 4096 }
  if (memory === null) state.withoutMemory.add(id)
  state.snapshots.set(id, arrived)
  return { status: 200, body: arrived }
}
