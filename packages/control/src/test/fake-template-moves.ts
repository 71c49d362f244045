import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { NO_TEMPLATE } from '@offshoot/contract/agent-move'
import { templateHeader } from '@offshoot/contract/move-stream'
import type { FakeAgentState } from './fake-agent-state.ts'
import { fakeTemplateStream, headerOf } from './fake-move-stream.ts'
import { type Handled, LOST } from './handled.ts'

interface Moving {
  readonly state: FakeAgentState
  readonly onMove: (step: string, id: string) => Promise<Handled | undefined>
  readonly lostAnswers: Set<string>
}

interface Asked {
  readonly id: string
  readonly action: string
  readonly workspaceId: string | undefined
  readonly request: IncomingMessage
}

const ACTIONS = new Set(['content', 'export', 'import'])

/** Answers requests that bring templates without memory to other hosts, as a real agent does; `undefined` for others. */
export async function answerTemplateMoves(agent: Moving, asked: Asked): Promise<Handled | undefined> {
  const { id, action, request } = asked
  if (!ACTIONS.has(action)) return undefined
  const step = `${action}-template`
  const body = action === 'import' ? await buffer(request).catch(() => Buffer.alloc(0)) : Buffer.alloc(0)
  const replaced = await agent.onMove(step, id)
  if (replaced !== undefined) return replaced
  const answered = action === 'import' ? arrive(agent.state, asked, body) : sent(agent.state, asked)
  return agent.lostAnswers.delete(step) ? LOST : answered
}

function sent({ builds }: FakeAgentState, { id, action, workspaceId }: Asked): Handled {
  if (workspaceId === undefined || builds.templates.get(id) !== workspaceId) {
    return { status: 404, body: { error: 'not found', detail: NO_TEMPLATE } }
  }
  if (action === 'content') return { status: 200, body: { bytes: 1000, bake: null, has_memory: false } }
  return { status: 200, body: fakeTemplateStream(id, workspaceId) }
}

function arrive({ builds }: FakeAgentState, { id, workspaceId }: Asked, body: Buffer): Handled {
  if (builds.templates.get(id) === workspaceId) return { status: 200, body: { id, workspace_id: workspaceId } }
  const { template } = headerOf(body, templateHeader) ?? {}
  if (template?.id !== id || template.workspace_id !== workspaceId)
    return { status: 400, body: { error: 'the stream is damaged' } }
  builds.templates.set(id, template.workspace_id)
  return { status: 200, body: { id, workspace_id: workspaceId } }
}
