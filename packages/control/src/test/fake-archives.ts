import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { AgentArchive } from '@offshoot/contract/agent-archive'
import type { FakeAgentState, FakeFile } from './fake-agent-state.ts'
import type { Handled } from './handled.ts'

/** The parts of a fake agent that are used here. */
interface WithArchives {
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

/** Files of one answer. A real agent gives more, but the caller asks for all of them in the same way. */
const MAX_LISTED = 2

/**
 * Answers requests about the files of an archive as a real agent does; `undefined` for other requests. The steps for
 * `onMove` are `list-archive`, `get-archive` and `put-archive`.
 */
export async function answerArchives(agent: WithArchives, asked: Asked): Promise<Handled | undefined> {
  const { method, url, workspaceId, request } = asked
  const [, , kind, id = '', what, files, name] = url.pathname.split('/')
  const { state } = agent
  if (kind !== 'sandboxes' || what !== 'archive') return undefined
  if (method === 'GET' && files === undefined) return { status: 200, body: shown(state, id) }
  if (files !== 'files') return undefined
  const body = method === 'PUT' ? await buffer(request).catch(() => Buffer.alloc(0)) : Buffer.alloc(0)
  const step = method === 'PUT' ? 'put-archive' : name === undefined ? 'list-archive' : 'get-archive'
  const replaced = await agent.onMove(step, id)
  if (replaced !== undefined) return replaced
  if (state.sandboxes.get(id)?.workspace_id !== workspaceId)
    return { status: 404, body: { error: 'sandbox not found' } }
  const archive = state.archives.get(id) ?? new Map<string, FakeFile>()
  state.archives.set(id, archive)
  const answer = handle(archive, { method, name, url, body })
  return agent.lostAnswers.delete(step) ? { status: 0 } : answer
}

function shown({ archives, storesArchives }: FakeAgentState, id: string): AgentArchive {
  const files = [...(archives.get(id)?.values() ?? [])]
  const stored = { waiting_bytes: 0, waiting_seconds: 0, error: null }
  return {
    files: files.length,
    bytes: files.reduce((sum, { content }) => sum + content.length, 0),
    last_at: files.at(-1)?.takenAt ?? null,
    gap_at: null,
    error: null,
    objects: storesArchives ? stored : null,
  }
}

interface OfArchive {
  readonly method: string
  readonly name: string | undefined
  readonly url: URL
  readonly body: Buffer
}

function handle(archive: Map<string, FakeFile>, { method, name, url, body }: OfArchive): Handled {
  if (name === undefined) {
    const after = Number(url.searchParams.get('after') ?? 0)
    const listed = [...archive].slice(after, after + MAX_LISTED)
    const shown = listed.map(([each, { content, takenAt }]) => ({
      name: each,
      bytes: content.length,
      taken_at: takenAt,
    }))
    return { status: 200, body: { cursor: `${after + listed.length}`, files: shown } }
  }
  const known = archive.get(name)
  if (method === 'GET') {
    return known === undefined ? { status: 404, body: { error: 'not found' } } : { status: 200, body: known.content }
  }
  if (known !== undefined && !known.content.equals(body)) return { status: 409, body: { error: 'conflict' } }
  archive.set(name, { content: body, takenAt: url.searchParams.get('taken_at') ?? '' })
  return { status: 204 }
}
