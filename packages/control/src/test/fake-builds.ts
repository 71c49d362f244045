import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { AgentBuild, BuildOnAgentBody, TemplateOfSandboxBody } from '@offshoot/contract/agent-build'
import { isUuid } from '@offshoot/contract/ids'
import type { Handled } from './handled.ts'

const DONE = { status: 'done', stage: 'done', percent: 100, error: null } as const
const notFound: Handled = { status: 404, body: { error: 'not found' } }

/** The uploads and builds of a fake agent. A build keeps its state until the test changes it. */
export class FakeBuilds {
  readonly uploads = new Map<string, { readonly bytes: number; readonly sha256: string }>()
  readonly builds = new Map<string, AgentBuild>()
  /** The existing templates, each with its workspace. */
  readonly templates = new Map<string, string>()
  readonly bodies = new Map<string, BuildOnAgentBody>()
  /** The requests to make templates from sandboxes. */
  readonly ofSandboxes = new Map<string, TemplateOfSandboxBody>()
  /** If set, the answer to every request to make a template from a sandbox. */
  refusal: Handled | undefined

  /** Whether the agent has a template with that id or name for the workspace. */
  offers(template: string, workspaceId: string): boolean {
    return !isUuid(template) || this.templates.get(template) === workspaceId
  }

  finish(id: string, failed?: string): void {
    const build = this.builds.get(id)
    const body = this.bodies.get(id)
    if (build === undefined || body === undefined) throw new Error(`no build ${id}`)
    const ended_at = new Date().toISOString()
    if (failed !== undefined) {
      this.builds.set(id, { ...build, status: 'failed', error: failed, ended_at })
      return
    }
    const { name, cpu, memory_mb } = body
    const rootfs_path = `templates/${id}/rootfs.ext4`
    const template = {
      name,
      rootfs_path,
      size_bytes: 4096,
      cpu,
      memory_mb,
      meta: { start_cmd: null },
      is_global: false,
    }
    this.templates.set(id, build.workspace_id)
    this.builds.set(id, { ...build, ...DONE, ended_at, template })
  }
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly workspaceId: string | undefined
  readonly body: unknown
}

/** Handles an upload; `undefined` for other requests. */
export async function takeFakeUpload(
  builds: FakeBuilds,
  method: string,
  path: string,
  request: IncomingMessage,
): Promise<Handled | undefined> {
  const id = /^\/v1\/builds\/([^/]+)\/rootfs$/.exec(path)?.[1]
  if (method !== 'PUT' || id === undefined) return undefined
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
  }
  builds.uploads.set(id, { bytes, sha256: hash.digest('hex') })
  return { status: 201, body: { bytes } }
}

/** Answers requests about builds and built templates as a real agent does; `undefined` for other requests. */
export function answerBuilds(state: FakeBuilds, { method, path, workspaceId, body }: Asked) {
  const [, , kind, id = '', logs] = path.split('/')
  if (kind === 'templates' && method === 'GET') {
    const templates = [...state.templates].map(([each, workspace_id]) => ({ id: each, workspace_id }))
    return { status: 200, body: { templates, unreadable: [] } }
  }
  if (kind === 'templates') {
    state.templates.delete(id)
    return { status: 204 }
  }
  if (kind === 'sandboxes' && method === 'POST' && logs === 'template') {
    return ofSandbox(state, body as TemplateOfSandboxBody, workspaceId ?? '')
  }
  if (kind !== 'builds') return undefined
  if (method === 'POST') return begin(state, body as BuildOnAgentBody, workspaceId ?? '')
  if (method === 'GET' && id === '') return { status: 200, body: { builds: [...state.builds.values()] } }
  const build = state.builds.get(id)
  if (method === 'DELETE') {
    state.uploads.delete(id)
    if (build !== undefined && build.ended_at === null) state.finish(id, 'unpacking: cancelled')
    return { status: 204 }
  }
  return logs === undefined || build === undefined ? notFound : { status: 200, body: { log: 'of the agent' } }
}

function begin(state: FakeBuilds, body: BuildOnAgentBody, workspaceId: string): Handled {
  const upload = state.uploads.get(body.id)
  if (upload === undefined) return notFound
  const build: AgentBuild = {
    id: body.id,
    workspace_id: workspaceId,
    name: body.name,
    status: 'running',
    stage: 'unpacking',
    percent: 10,
    error: null,
    started_at: new Date().toISOString(),
    ended_at: null,
    size_mb: body.size_mb,
    bytes: upload.bytes,
    template: null,
  }
  state.builds.set(body.id, build)
  state.bodies.set(body.id, body)
  return { status: 202, body: build }
}

function ofSandbox(state: FakeBuilds, asked: TemplateOfSandboxBody, workspaceId: string): Handled {
  if (state.refusal !== undefined) return state.refusal
  state.ofSandboxes.set(asked.id, asked)
  state.uploads.set(asked.id, { bytes: 4096, sha256: '' })
  return begin(state, { id: asked.id, name: asked.name, size_mb: 64, cpu: 1, memory_mb: 512 }, workspaceId)
}
